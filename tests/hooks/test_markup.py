"""Output, cards, tables, errors and values: right ones render and are noted, malformed ones stop the build."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from bs4 import BeautifulSoup

from hooks import cache, programs, records, table, used, value
from hooks.errors import GuideError
from tests.hooks import house

if TYPE_CHECKING:
    from pathlib import Path

    from hooks.programs import Program

OUTPUT = "/// output | strategies/mirrored.py:setup\n///\n"
CARD = "/// program | strategies/mirrored.py\n///\n"
TABLE = "/// table | strategies/mirrored.py:matrix\nInside and outside `scope()`.\n///\n"
ERROR = "/// error | strategies/mirrored.py:outside\nMade outside. **Compile** inside.\n///\n"
VALUE = "It is {{ strategies/mirrored.py:speedup_x | .1f }} times.\n"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    return house.build(tmp_path / "snippets", monkeypatch)


def packages() -> str:
    """Return what a card says of the versions that a record of today is made with."""
    versions = records.locked_versions()
    return f"Keras {versions['keras']}, TensorFlow {versions['tensorflow']}"


def soup_of(text: str) -> BeautifulSoup:
    return BeautifulSoup(house.render(text)[0], "html.parser")


def test_what_another_device_printed(program: Program) -> None:
    house_gpu = house.record_of(program, device="gpu", output={"setup": "replicas: 8\n"}, measures={"speedup_x": 9.5})
    records.write(house_gpu)
    html = house.render(OUTPUT.replace(".py:", ".py@gpu:"))[0]
    assert "replicas: 8" in html
    assert "GPU · TensorFlow" in html
    assert ">9.5</data> times" in house.render(VALUE.replace(".py:", ".py@gpu:"))[0]


@pytest.mark.usefixtures("program")
def test_output() -> None:
    html, used = house.render(OUTPUT)
    soup = BeautifulSoup(html, "html.parser")
    box = soup.select_one("div.guide-output.highlight")
    assert box
    assert box.pre
    assert box.pre.get_text() == "replicas: 4 < 5 & more\n"
    assert box.p
    versions = records.locked_versions()
    stamp = f"TensorFlow {versions['tensorflow']} · Keras {versions['keras']}"
    assert box.p.get_text() == f"Output · CPU · {stamp} · 2026-11-21"
    assert box.time
    assert box.time["datetime"] == "2026-11-21"
    assert [(use.program, use.name, use.page) for use in used.outputs] == [
        ("strategies/mirrored.py", "setup", "docs/strategies/page.md")
    ]


def test_output_is_text_not_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "<script>x</script> *a* {{ b }} [c](d) &amp; \u00e9\n  two\n"
    house.build(tmp_path / "snippets", monkeypatch, output={"setup": text})
    soup = soup_of(OUTPUT)
    assert soup.select("pre")[0].get_text() == text
    assert not soup.select("script, em, a, data")


def test_card(program: Program) -> None:
    html, used = house.render(CARD)
    soup = BeautifulSoup(html, "html.parser")
    card = soup.select_one("details#program-strategies-mirrored")
    assert card
    assert not card.pre
    code = BeautifulSoup(used.codes["strategies/mirrored.py"], "html.parser")
    assert code.get_text() == program.source
    assert code.select(".highlight .kc")
    run = (
        "Run it: uv run mirrored.py fetches what it imports; python mirrored.py runs it where tensorflow is installed."
    )
    assert [part.get_text() for part in card.select(".program-run")] == [run]
    assert [(a["href"], a.get("download")) for a in card.select("a")] == [
        ("/__root__/programs/strategies/mirrored.py", None),
        ("/__root__/programs/strategies/mirrored.py", "mirrored.py"),
        ("/__source__/snippets/strategies/mirrored.py", None),
    ]
    rows = [row.get_text(" ", strip=True) for row in card.select("tbody tr")]
    assert rows == [
        f"CPU 2026-11-21 {packages()} 2 cores, 24 GiB",
        "GPU not yet verified: make record DEVICE=gpu ARGS=strategies/mirrored.py makes the record",
        "TPU not yet verified: make record DEVICE=tpu ARGS=strategies/mirrored.py makes the record",
    ]
    assert used.programs == ["strategies/mirrored.py"]


def test_card_offers_what_the_program_needs_beside_it(program: Program) -> None:
    marked = program.source.replace("# ///\n", '#\n# [tool.guide]\n# files = ["server.py"]\n# ///\n', 1)
    program.file.write_text(marked, encoding="utf-8")
    program.file.with_name("server.py").write_text("one")
    card = soup_of(CARD).select_one("details#program-strategies-mirrored")
    assert card
    assert card.get_text().count("It needs server.py beside it.") == 1
    assert "npm" not in card.get_text()
    assert [a.get("download") for a in card.select("a")] == [None, "mirrored.py", "server.py", None]


@pytest.mark.parametrize(
    ("dependencies", "files", "said"),
    [
        ([], [], "python mirrored.py runs it."),
        (["keras==3.15.*", "numpy>=2", "tensorflow"], [], "where keras, numpy and tensorflow are installed."),
        (list("abcdef"), [], "where the packages that its first lines name are installed."),
        (["numpy"], ["package-lock.json"], "beside it. Before it, npm ci --ignore-scripts fetches the packages"),
    ],
)
def test_card_says_where_its_program_runs(
    program: Program, dependencies: list[str], files: list[str], said: str
) -> None:
    text = program.source.replace('["tensorflow==2.21.*"]', json.dumps(dependencies))
    table = f"#\n# [tool.guide]\n# files = {json.dumps(files)}\n# ///\n" if files else "# ///\n"
    program.file.write_text(text.replace("# ///\n", table, 1), encoding="utf-8")
    for name in files:
        program.file.with_name(name).write_text("{}")
    (run,) = soup_of(CARD).select(".program-run")
    assert said in run.get_text()


def test_a_card_is_highlighted_once(program: Program, tmp_path: Path) -> None:
    def code() -> str:
        return house.render(CARD)[1].codes["strategies/mirrored.py"]

    first = code()
    (kept,) = (tmp_path / "cards").iterdir()
    assert kept.read_text("utf-8").endswith(f"\n{first}")
    assert code() == first
    program.file.write_text(house.SOURCE + "x = 2\n", encoding="utf-8")
    assert ">x</span>" in code()
    assert len(list((tmp_path / "cards").iterdir())) == 2


def test_card_shows_each_device_and_forgets_stale_records(program: Program) -> None:
    records.write(house.record_of(program, device="gpu", hardware="1 x NVIDIA H200", recorded="2026-11-22"))
    assert f"GPU 2026-11-22 {packages()} 1 x NVIDIA H200" in soup_of(CARD).get_text(" ", strip=True)
    program.file.write_text(house.SOURCE + "\n", encoding="utf-8")
    assert soup_of(CARD).get_text().count("not yet verified") == 3


@pytest.mark.usefixtures("program")
def test_some_columns_of_a_table() -> None:
    html, _ = house.render(TABLE.replace("\nInside", '\n    columns: ["where", "loss"]\n\nInside'))
    soup = BeautifulSoup(html, "lxml")
    assert [th.get_text() for th in soup.select("thead th")] == ["where", "loss"]
    assert [td.get_text() for td in soup.select("tbody td")] == ["0.5", "1.25", "3"]
    assert [th.get_text() for th in soup.select("tbody th")] == ["inside", "outside", "other1"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ('["where", "lost"]', r":2: .*no column 'lost'.*loss"),
        ("where", r":2: option `columns`: it is no list of headings"),
        ("[]", r":2: option `columns`: it is no list of headings"),
    ],
)
@pytest.mark.usefixtures("program")
def test_columns_that_a_table_does_not_have(columns: str, said: str) -> None:
    with pytest.raises(GuideError, match=said):
        house.render(TABLE.replace("\nInside", f"\n    columns: {columns}\n\nInside"))


@pytest.mark.usefixtures("program")
def test_table() -> None:
    html, used = house.render(TABLE)
    soup = BeautifulSoup(html, "html.parser")
    table = soup.table
    assert table
    assert table.caption
    assert table.caption.get_text() == "Inside and outside scope()."
    assert [th.get_text() for th in table.select("thead th[scope=col]")] == ["where", "trains", "loss"]
    assert [th.get_text() for th in table.select("tbody th[scope=row]")] == ["inside", "outside", "other1"]
    assert [td.get_text() for td in table.select("tbody td")] == ["✓ yes", "0.5", "✗ no", "1.25", "✓ yes", "3"]
    assert len(table.select("td.guide-number")) == 3
    region = table.parent
    assert region
    assert (region["tabindex"], region["role"]) == ("0", "region")
    assert soup.find(id=region["aria-labelledby"]) is table.caption
    link = table.select_one("sup a")
    assert link
    assert link["aria-label"] == "Note 1"
    note = soup.find(id=str(link["href"])[1:])
    assert note
    assert note.get_text().startswith("rare")
    back = note.find("a")
    assert back
    assert str(back["href"])[1:] == link["id"]
    assert [table.id for table in used.tables] == ["table-strategies-mirrored-matrix"]


def test_notes_that_agree_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = {"text": "x", "note": "<b>same</b>"}
    house.build(tmp_path / "snippets", monkeypatch, tables={"matrix": {"columns": ["a", "b"], "rows": [[cell, cell]]}})
    soup = soup_of(TABLE)
    assert len(soup.select(".guide-notes li")) == 1
    assert [a.get_text() for a in soup.select("sup a")] == ["1", "1"]
    ids = [tag["id"] for tag in soup.select("[id]")]
    assert len(ids) == len(set(ids))
    assert not soup.select("b")


def test_a_cell_comes_from_the_record_of_the_device_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables(*columns: str, **rows: list[Any]) -> dict[str, dict[str, Any]]:
        return {"matrix": {"columns": ["API", *columns], "rows": [[name, *cells] for name, cells in rows.items()]}}

    def seen() -> list[str]:
        return [cell.get_text() for cell in soup_of(TABLE).select("tbody td")]

    missing = {"text": "not yet run", "note": "No GPU here.", "device": "gpu"}
    here = tables("Mirrored", "GPU", fit=["yes", missing], loop=["yes", missing])
    there = tables("GPU", "Mirrored", loop=[{"text": "no", "note": "It raises."}, "yes"], fit=["yes", "no"])
    program = house.build(tmp_path / "snippets", monkeypatch, tables=here)
    assert seen() == ["yes", "not yet run1", "yes", "not yet run1"]
    records.write(house.record_of(program, device="gpu", hardware="1 x NVIDIA H200", tables=there))
    assert seen() == ["yes", "yes", "yes", "no1"]
    assert [line.get_text().split(" · ")[1] for line in soup_of(TABLE).select(".guide-stamp")] == ["CPU", "GPU"]
    records.write(house.record_of(program, tables={"matrix": {**here["matrix"], "rows": here["matrix"]["rows"] * 2}}))
    with pytest.raises(GuideError, match=r"two rows of the table `strategies/mirrored\.py:matrix` begin with 'fit'"):
        soup_of(TABLE)
    records.write(house.record_of(program, tables=here))
    program.file.write_text(house.SOURCE + "x = 2\n", encoding="utf-8")
    records.write(house.record_of(programs.load(house.PATH), tables=here))
    assert seen() == ["yes", "not yet run1", "yes", "not yet run1"]


@pytest.mark.usefixtures("program")
def test_error() -> None:
    html, used = house.render(ERROR + "\n" + CARD)
    soup = BeautifulSoup(html, "html.parser")
    entry = soup.select_one("div#error-mirrored-outside")
    assert entry
    assert entry.select_one(".guide-error pre > code").get_text() == "ValueError: <b>not</b> in `scope()`\n"  # type: ignore[union-attr]
    assert "Made outside. Compile inside." in entry.get_text()
    assert entry.select_one(".guide-stamp a")["href"] == "#program-strategies-mirrored"  # type: ignore[index]
    (error,) = used.errors
    assert (error.id, error.text) == ("error-mirrored-outside", "ValueError: <b>not</b> in `scope()`")


@pytest.mark.usefixtures("program")
def test_an_authors_block_inside_an_error_stays_a_block_of_the_page() -> None:
    soup = soup_of(ERROR.replace("inside.\n", "inside.\n\n```python\nx = 1\n```\n"))
    block = soup.find("pre", string=lambda text: bool(text and "x = 1" in text)) or soup.select(".highlight pre")[-1]
    assert block.get_text().strip() == "x = 1"
    assert not block.find_parent(class_="guide-error")


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("{{ strategies/mirrored.py:speedup_x | .1f }}", "1.9"),
        ("{{strategies/mirrored.py:speedup_x|.0%}}", "187%"),
        ("{{ strategies/mirrored.py:speedup_x }}", "1.873"),
        ("{{ strategies/mirrored.py:steps }}", "12"),
        ("{{ strategies/mirrored.py:steps | 05d }}", "00012"),
        ("{{ strategies/mirrored.py:device }}", "CPU:0"),
        ("{{ strategies/mirrored.py:weights_differ }}", "false"),
    ],
)
def test_value(written: str, shown: str) -> None:
    html, used = house.render(f"It is {written} here.\n\n| a |\n|---|\n| {written.replace('|', chr(92) + '|')} |\n")
    found = BeautifulSoup(html, "html.parser").select("data.value")
    assert [data.get_text() for data in found] == [shown] * 2
    assert found[0]["title"] == "from strategies/mirrored.py, CPU, 2026-11-21"
    assert len(used.values) == 2


@pytest.mark.parametrize(
    ("number", "shown"),
    [(9999.4, "9999"), (9999.5, "10000"), (9999.99, "10000"), (-9999.7, "-10000"), (0.00012345, "0.0001234"), (3, "3")],
)
def test_a_number_is_shown_without_an_exponent(number: float, shown: str) -> None:
    assert value.show(number, "") == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(9999.4, "9999"), (9999.6, "10,000"), (-12345.6, "-12,346"), (0.00001, "1e-05"), (0.5, "0.5")]
)
def test_a_number_of_a_table_is_shown_without_an_exponent(number: float, shown: str) -> None:
    assert table.text_of(number) == shown


@pytest.mark.usefixtures("program")
def test_values_in_code_are_left_alone() -> None:
    html, used = house.render("`{{ a }}`\n\n```yaml\nx: '{{ b }}'\n```\n\n    {{ c }}\n")
    assert "{{ a }}" in html
    assert "<data" not in html
    assert not used.values


WRONG = [
    ("output of no program", OUTPUT, ("mirrored.py", "mirored.py"), "did you mean `strategies/mirrored.py`"),
    ("output of no section", OUTPUT, (":setup", ":setpu"), "did you mean `setup`"),
    ("output of a silent section", OUTPUT, (":setup", ":quiet"), "section `quiet` of `strategies/mirrored.py` printed"),
    ("output without a section", OUTPUT, (":setup", ""), "is not a reference"),
    ("output with content", OUTPUT, ("///\n", "text\n///\n"), "takes no content"),
    ("output with an option", OUTPUT, ("\n", "\n    device: gpu\n"), "has no option `device`"),
    ("output without an argument", OUTPUT, (" | strategies/mirrored.py:setup", ""), "says nothing after `|`"),
    ("output outside the folder", OUTPUT, ("strategies/", "../"), "is not a reference"),
    ("output never closed", OUTPUT, ("///\n", ""), "is never closed"),
    ("card of no program", CARD, ("mirrored", "nothing"), "there is no program"),
    ("card of a section", CARD, (".py", ".py:setup"), "there is no program"),
    ("card with content", CARD, ("///\n", "text\n///\n"), "takes no content"),
    ("table of no name", TABLE, (":matrix", ":matrices"), "did you mean `matrix`"),
    ("table without a caption", TABLE, ("Inside and outside `scope()`.\n", ""), "has no content"),
    ("table with an option", TABLE, ("\n", "\n    width: 3\n\n"), "has no option `width`"),
    ("error of no name", ERROR, (":outside", ":inside"), "has no `inside` in its `errors`"),
    ("error without cause and fix", ERROR, ("Made outside. **Compile** inside.\n", ""), "has no content"),
    ("value of no name", VALUE, ("speedup_x", "speed_x"), "did you mean `speedup_x`"),
    ("value of no program", VALUE, ("mirrored.py", "x.py"), "there is no program `strategies/x.py`"),
    ("value with a wrong format", VALUE, (".1f", "d"), "the format `d` does not fit the value 1.8734"),
    ("value with a long format", VALUE, (".1f", "999999999.1f"), "the format `999999999.1f` does not fit"),
    ("value with a broken format", VALUE, (".1f", ".x"), "the format `.x` does not fit"),
    ("claim with a format", VALUE, ("speedup_x", "weights_equal"), "a claim takes no format"),
    ("braces that hold something else", VALUE, ("strategies/mirrored.py:speedup_x", "name"), "is not a reference"),
    ("empty braces", VALUE, ("strategies/mirrored.py:speedup_x | .1f", ""), "is not a reference"),
    ("a block of no name", TABLE, ("table", "tabel"), "starts no block that is known"),
]


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(("text", "change", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_malformed_markup_stops_the_build(text: str, change: tuple[str, str], message: str) -> None:
    wrong = "# Title\n\nWords.\n\n" + text.replace(*change)
    with pytest.raises(GuideError) as caught:
        house.render(wrong)
    line = 6 if change[1].startswith("\n    ") else 5
    assert str(caught.value).startswith(f"docs/strategies/page.md:{line}: ")
    assert message in str(caught.value)
    assert "Fix: " in str(caught.value)


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("text", [CARD, TABLE, ERROR])
def test_what_has_an_id_stands_once_on_a_page(text: str) -> None:
    with pytest.raises(GuideError, match=r"page\.md:\d+: a second "):
        house.render(text + "\n" + text)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("/// details | One\n    title: Two\n\nA.\n///\n", "5: `/// details | One` starts no block that can be read"),
        ("/// detail | One\n\nA.\n///\n", "5: `/// detail | One` starts no block .*did you mean `details`"),
        ("[empty]()\n", "5: a link that leads nowhere: ''"),
        ("[broken](https://[x)\n", "5: a link that leads nowhere: 'https://"),
        ("![broken](https://[x)\n", "5: a link that leads nowhere: 'https://"),
    ],
)
def test_other_markup_that_cannot_be_read_is_named_too(wrong: str, says: str) -> None:
    before = "/// details | One\n\nA.\n///\n"
    with pytest.raises(GuideError, match=rf"page\.md:{says}"):
        house.render(before + wrong)


@pytest.mark.usefixtures("program")
def test_the_second_of_two_equal_blocks_is_named() -> None:
    with pytest.raises(GuideError, match=r"page\.md:4: "):
        house.render(OUTPUT + "\n" + OUTPUT.replace("\n///", "\nno\n///"))


@pytest.mark.parametrize("text", [OUTPUT, TABLE, ERROR, VALUE])
def test_stale_records(program: Program, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    program.file.write_text(house.SOURCE + "\n", encoding="utf-8")
    with pytest.raises(GuideError, match=r"page\.md:1: strategies/mirrored\.py changed after it was recorded"):
        house.render(text)
    monkeypatch.setenv("GUIDE_PREVIEW", "1")
    html, _ = house.render(text)
    assert "guide-stale" in html
    assert "replicas: 4" not in html
    if text != VALUE:
        assert "make record ARGS=strategies/mirrored.py" in html


def test_a_broken_record_is_named_itself(program: Program) -> None:
    records.file_of(program, "cpu").write_text("{", encoding="utf-8")
    with pytest.raises(GuideError, match=r"mirrored\.cpu\.json: the record is broken"):
        house.render(OUTPUT)


@pytest.mark.usefixtures("program")
def test_half_of_a_character_in_an_option_is_an_error_that_can_be_printed() -> None:
    text = '/// figure | strategies/mirrored.py:split\n    alt: "Two \\ud83d bars"\n\nCaption.\n///\n'
    with pytest.raises(GuideError, match=r"page\.md:2: option `alt`: it holds half of a character") as raised:
        house.render(text)
    assert str(raised.value).encode().endswith(rb"correct `alt: Two \ud83d bars`.")


@pytest.mark.usefixtures("program")
def test_blocks_inside_other_blocks_and_lists() -> None:
    inner = OUTPUT.replace("\n", "\n    ").rstrip()
    soup = soup_of(f"- item\n\n    {inner}\n\n//// details | More\n\n{TABLE}\n////\n")
    assert len(soup.select("li .guide-output pre")) == 1
    assert len(soup.select("details table")) == 1


@pytest.mark.usefixtures("program")
def test_what_a_page_uses_is_kept_until_it_is_converted_again() -> None:
    house.render(OUTPUT + "\n" + CARD, page="docs/a.md")
    assert used.of_page("docs/a.md").programs == ["strategies/mirrored.py"]
    house.render("Nothing.", page="docs/a.md")
    assert used.of_page("docs/a.md").programs == []
    assert used.of_page("docs/never.md").outputs == []


def test_every_recorded_name_can_be_shown(program: Program) -> None:
    """The house of these tests is real: its program passes the checks that programs of the guide pass."""
    assert records.state(program) == "current"
    assert programs.load(house.PATH).sections.keys() == {"setup", "quiet"}
