"""What is dropped from a style sheet, and what must stay."""

from __future__ import annotations

import pytest

from hooks.prune import Used, prune

PAGES = ['<body dir="ltr" data-scheme="slate"><p class="note on-page">tip rtl</p></body>']
SCRIPTS = [
    'x("div",{class:"made"});e.classList.toggle("toggled",1);f.className="named";',
    'query(".looked-for");g.setAttribute("class", "set");h.dataset.mark="right";const c=`whole part--${kind}`;',
]
USED = Used(PAGES, SCRIPTS)


@pytest.mark.parametrize(
    "css",
    [
        ".on-page{a:b}",
        "p{a:b}",
        ".made{a:b}",
        ".toggled .named{a:b}",
        ".set{a:b}",
        ".whole.part--seven{a:b}",
        "[data-mark=right]{a:b}",
        "[dir=ltr] p{a:b}",
        "[data-scheme=slate]{a:b}",
        "p:not(.tip){a:b}",
        ":is(.tip,p){a:b}",
        "@media print{.note{a:b}}",
        "@font-face{a:b}",
        "@keyframes tip{from{a:b}to{a:c}}",
        'p::after{content:"}.tip{"}',
    ],
)
def test_what_can_match_stays(css: str) -> None:
    assert prune(css, USED, [], named=False) == css


@pytest.mark.parametrize(
    "css", [".tip{a:b}", "p .tip{a:b}", ".looked-for{a:b}", "[dir=rtl] p{a:b}", "@media print{.tip{a:b}}"]
)
def test_what_cannot_match_goes(css: str) -> None:
    assert prune(css, USED, [], named=False) == ""


def test_a_rule_keeps_the_selectors_that_can_match() -> None:
    assert prune("p,.tip,.note{a:b}", USED, [], named=False) == "p,.note{a:b}"


def test_a_class_that_a_script_names_stays_when_asked() -> None:
    assert prune(".looked-for{a:b}", USED, [], named=True) == ".looked-for{a:b}"


def test_properties_that_nothing_refers_to_go() -> None:
    css = ":root{--used:1;--unused:2;--elsewhere:3;--by-script:4}p{a:var(--used)}"
    others, scripts = ["p{a:var( --elsewhere)}"], [*SCRIPTS, 'get("--by-script")']
    assert prune(css, Used(PAGES, scripts), others, named=False) == (
        ":root{--used:1;--elsewhere:3;--by-script:4}p{a:var(--used)}"
    )


def test_tables_without_a_class_are_told_by_the_classes_that_others_have() -> None:
    css = "table:not([class]) td{a:b}"
    assert prune(css, USED, [], named=False) == "table td{a:b}"
    pages, scripts = ['<table class="cells wide"><table>'], ['make("table", { class: "made" })']
    assert prune(css, Used(pages, scripts), [], named=False) == "table:not(.cells,.made) td{a:b}"
