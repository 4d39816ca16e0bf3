"""A page and its blocks come from the cache until something that they are made from changes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mkdocs.structure.toc import get_toc

from hooks import cache, kept, labs, loud, programs, used
from hooks.blocks import Block
from tests.hooks.house import PATH, SOURCE
from tests.plugin_blocks import LabItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAGE = "docs/page.md"
# A file, and whether the page depends on it.
FILES = {
    PAGE: True,
    f"snippets/{PATH}": True,
    f"snippets/{PATH}".replace(".py", ".cpu.json"): True,
    "snippets/strategies/other.py": False,
    "docs/glossary.md": True,
    "docs/other.md": False,
    "docs/data.json": True,
    "mkdocs.yml": True,
    "uv.lock": True,
    "locks/next/outcomes.json": True,
    "locks/next/requirements.txt": True,
    "locks/next/requirements.in": False,
    "hooks/theme/main.html": True,
    "hooks/blocks.py": True,
    "README.md": False,
}


@dataclass(frozen=True)
class Linked:
    """A file that a page links to."""

    src_uri: str


class Rendered:
    """A page as MkDocs has it, rendered without MkDocs."""

    made = 0
    warns = False

    def __init__(self, folder: Path) -> None:
        self.file = SimpleNamespace(content_string=(folder / PAGE).read_text("utf8"), src_uri="page.md")
        self.markdown = self.file.content_string
        self.content = ""

    def render(self, config: Any, files: Any) -> None:
        """Do what `Page.render` does."""
        type(self).made += 1
        if self.warns:
            logging.getLogger("mkdocs").warning("a link leads nowhere")
        self.content, self._title_from_render = f"<p>{self.markdown}", "Page"
        self.toc = get_toc([{"name": "A", "id": "a", "level": 1, "children": []}])
        self.present_anchor_ids = {"a", "b"}
        self.links_to_anchors = {files.get_file_from_path("other.md"): {"a": "other.md#a"}}
        question = used.Question("id", PAGE, ["S2"], [True], ["proof"], False, "Text?", ["One"], 3)
        used.PAGES[PAGE] = used.Used(PAGE, [question], [used.Use(PATH, "setup", PAGE)], codes={PATH: "<b>"})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(SOURCE if name.endswith(".py") else f"{PATH}:setup", "utf8")
    monkeypatch.setattr(cache, "FOLDER", tmp_path / ".cache")
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    monkeypatch.setattr(programs, "SNIPPETS", tmp_path / "snippets")
    for name in ("CI", "FRESH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Rendered, "made", 0)
    monkeypatch.setattr(used, "PAGES", {})
    yield tmp_path
    kept.forget()  # the files of this project are not those of the next
    cache.code.cache_clear()


@pytest.fixture(params=["blocks", "page"])
def rendered(project: Path, request: pytest.FixtureRequest) -> Callable[[], int]:
    """Return a function that asks as a new run does, and says how often the page was rendered."""
    block = Block(PAGE, 1, 3, "python", "x = 1", attributes={"data-message": "a"})
    made = 0

    def make() -> list[Block]:
        nonlocal made
        made += 1
        return [block]

    def ask() -> int:
        kept.forget()
        cache.code.cache_clear()
        if request.param == "blocks":
            assert kept.blocks(project / PAGE, project, make) == [block]
            return made
        page(project)
        return Rendered.made

    return ask


def page(project: Path) -> Rendered:
    """Return the page as a build gets it."""
    used.PAGES.clear()
    return rendered_by_build(Rendered(project), project)


def rendered_by_build(page: Rendered, project: Path, *, directory_urls: bool = True) -> Rendered:
    """Render a page as MkDocs does once the hooks have seen its source."""
    kept.attach(page, PAGE, project)  # type: ignore[arg-type]
    config = SimpleNamespace(use_directory_urls=directory_urls)
    page.render(config, SimpleNamespace(get_file_from_path=Linked))
    return page


def test_nothing_is_rendered_twice(rendered: Callable[[], int]) -> None:
    assert [rendered(), rendered()] == [1, 1]


def test_a_kept_page_is_the_rendered_one(project: Path) -> None:
    def seen(made: Rendered) -> list[Any]:
        links = {to.src_uri: anchors for to, anchors in made.links_to_anchors.items()}
        toc = [(link.title, link.url, link.level, link.active) for link in made.toc]  # type: ignore[attr-defined]
        return [made.content, made._title_from_render, toc, made.present_anchor_ids, links, used.PAGES[PAGE]]

    first = seen(page(project))
    assert (first, Rendered.made) == (seen(page(project)), 1)
    assert first[-1].questions[0].id == "id"
    assert first[-1].outputs == [used.Use(PATH, "setup", PAGE)]


def test_a_preview_sees_another_lock(project: Path) -> None:
    page(project)
    kept.forget()  # each build of a preview does
    (project / "uv.lock").write_text("other", "utf8")
    page(project)
    assert Rendered.made == 2


def test_a_page_that_warned_warns_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rendered, "warns", True)
    loud.start(serving=False)
    loud.forget()
    try:
        pages = [page(project), page(project)]
        assert (loud.logged(), Rendered.made) == (2, 2)
        assert pages[1].content.startswith("<p>")
    finally:
        loud.forget()


def test_what_a_build_makes_of_the_source_counts(project: Path) -> None:
    first = page(project)
    other = Rendered(project)
    other.markdown += " more"
    assert rendered_by_build(other, project).content == f"{first.content} more"


def test_the_kind_of_addresses_counts(project: Path) -> None:
    """Links to other pages depend on it."""
    for directory_urls, made in ((True, 1), (False, 2), (True, 2)):
        used.PAGES.clear()
        rendered_by_build(Rendered(project), project, directory_urls=directory_urls)
        assert Rendered.made == made


@pytest.mark.parametrize(("name", "depends"), FILES.items())
def test_a_change_renders_what_depends_on_it(
    name: str, depends: bool, rendered: Callable[[], int], project: Path
) -> None:
    rendered()
    file = project / name
    file.write_text(f"{file.read_text('utf8')}\n# changed\n", "utf8")
    assert rendered() == (2 if depends else 1)


def test_a_new_page_renders_those_that_may_link_to_it(rendered: Callable[[], int], project: Path) -> None:
    rendered()
    (project / "docs" / "new.md").write_text("# New", "utf8")
    assert rendered() == 2


@pytest.mark.parametrize("name", [".page.md.swp", ".#page.md", "page.md~"])
def test_what_an_editor_keeps_beside_a_page_renders_nothing(
    name: str, rendered: Callable[[], int], project: Path
) -> None:
    rendered()
    for folder in ("docs", "snippets/strategies"):
        (project / folder / name).symlink_to("user@host.123")
    assert rendered() == 1


def test_a_preview_which_shows_pages_without_records_keeps_its_own(
    rendered: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered()
    monkeypatch.setenv("GUIDE_PREVIEW", "1")
    assert rendered() == 2


@pytest.mark.parametrize("name", ["CI", "FRESH"])
def test_ci_and_fresh_render_always(name: str, rendered: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    rendered()
    monkeypatch.setenv(name, "true")
    assert [rendered(), rendered()] == [2, 3]


def test_a_lab_is_executed_again_when_it_or_its_record_changed_on_another_device_and_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / ".cache")
    monkeypatch.setattr(labs, "check", lambda script: {})
    for name in ("CI", "FRESH"):
        monkeypatch.delenv(name, raising=False)
    script, ran = tmp_path / "lab.py", []
    script.write_text("# %%\n1", "utf8")
    script.with_suffix(".ipynb").write_text("its record", "utf8")
    device = ["cpu"]
    config = SimpleNamespace(getoption=lambda name: device[0])
    item = SimpleNamespace(path=script, config=config, _run=lambda: ran.append(1))
    for _ in range(2):
        LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 1
    script.write_text("# %%\n2", "utf8")
    LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 2
    device[0] = "gpu"
    LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 3
    script.with_suffix(".ipynb").write_text("its record, edited", "utf8")
    LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 4
    monkeypatch.setenv("FRESH", "1")
    LabItem.runtest(item)  # type: ignore[arg-type]
    assert len(ran) == 5
