"""Other names of pages for search: checked, owned by one page, and put into the index."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hooks import aliases
from hooks.errors import GuideError

SOURCE = """\
---
description: MWMS and multi worker, which are aliases.
other-meaning: [multi worker]
search:
  aliases:
    - MWMS
    - multi worker
---
# A page
"""


@pytest.mark.parametrize("name", ["Multi worker", "multi-worker", "multi_worker", "MultiWorker", "`MultiWorker`"])
def test_spelling_does_not_matter(name: str) -> None:
    assert aliases.spelt(name) == "multiworker"


def test_a_page_keeps_its_aliases() -> None:
    owners: dict[str, str] = {}
    assert aliases.checked(["MWMS", "multi worker"], "docs/a.md", SOURCE, owners) == ["MWMS", "multi worker"]
    assert owners == {"mwms": "docs/a.md", "multiworker": "docs/a.md"}


def test_an_alias_belongs_to_one_page() -> None:
    with pytest.raises(GuideError, match=r"docs/b.md:7: the alias 'multi worker' .* also belongs to docs/a.md"):
        aliases.checked(["multi worker"], "docs/b.md", SOURCE, {"multiworker": "docs/a.md"})


@pytest.mark.parametrize("wrong", ["MWMS", [1], [""], ["--"], {"a": "b"}, None])
def test_aliases_are_names(wrong: object) -> None:
    with pytest.raises(GuideError, match=r"docs/a.md:5: the aliases for search are no list of names"):
        aliases.checked(wrong, "docs/a.md", SOURCE, {})


def test_they_go_to_the_entry_of_the_page_alone() -> None:
    index = json.dumps({"config": {}, "docs": [{"location": "a/"}, {"location": "a/#part"}, {"location": "b/"}]})
    docs = json.loads(aliases.add(index, {"a/": ["MWMS"]}))["docs"]
    assert docs == [{"location": "a/", "aliases": ["MWMS"]}, {"location": "a/#part"}, {"location": "b/"}]


def write(name: str, *names: str) -> None:
    """Have a build or a preview, started as `mkdocs build -f mkdocs.yml`, read a page with these aliases."""
    source = f"---\nsearch: {{aliases: {[*names]}}}\n---\n"
    file = SimpleNamespace(abs_src_path=str(Path("docs", f"{name}.md").absolute()), content_string=source)
    page: Any = SimpleNamespace(url=f"{name}/", file=file, meta={"search": {"aliases": [*names]}} if names else {})
    config: Any = SimpleNamespace(config_file_path="mkdocs.yml")
    aliases.on_page_markdown("", page=page, config=config)


@pytest.fixture
def nothing_read() -> Any:
    aliases.on_pre_build(config=None)  # type: ignore[arg-type]
    yield
    aliases.on_pre_build(config=None)  # type: ignore[arg-type]


@pytest.mark.usefixtures("nothing_read")
@pytest.mark.parametrize("edits", [[("a", []), ("b", ["MWMS"])], [("b", ["MWMS"]), ("a", [])]])
def test_an_alias_may_move_to_another_page_in_a_preview(edits: list[tuple[str, list[str]]]) -> None:
    write("a", "MWMS", "multi worker")
    write("b")
    aliases.on_env(env=None)  # type: ignore[arg-type]
    for name, names in edits:
        write(name, *names)
    aliases.on_env(env=None)  # type: ignore[arg-type]
    assert aliases._found == {"b/": ["MWMS"]}
    write("a", "mwms")
    with pytest.raises(GuideError, match=r"docs/a.md:2: the alias 'mwms' .* also belongs to docs/b.md"):
        aliases.on_env(env=None)  # type: ignore[arg-type]
