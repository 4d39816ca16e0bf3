"""The built site, without a browser: what lies in it, and that it is what was checked."""

from __future__ import annotations

import importlib.metadata
import json
import os
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import jsonschema
import nbformat
import pytest
from bs4 import BeautifulSoup

from hooks import busy, curriculum, kernels, labs, programs, tree
from hooks.blocks import blocks_of
from hooks.errors import ROOT
from hooks.pages import DOCS, paths
from tests.site.pages import LEADS_ON, PLACEHOLDER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hooks.blocks import Block

SECTIONS = sorted({page.parent.name for page in (ROOT / DOCS).glob("*/*.md")})
# What the build makes from pages: themselves, notebooks, copies, lists, the search index, decks, scripts, the feed.
TEXTS = {".html", ".ipynb", ".md", ".txt", ".json", ".csv", ".js", ".xml"}
PAGES = [page.relative_to(ROOT / DOCS) for page in paths() if page.is_relative_to(ROOT / DOCS)]


@pytest.fixture(scope="session")
def data(built_site: Path) -> dict[str, Any]:
    return json.loads((built_site / "verification.json").read_text("utf8"))


def test_verification_keeps_to_its_schema(data: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "hooks" / "verification.schema.json").read_text("utf8"))
    jsonschema.validate(data, schema)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_what_is_published_is_what_is_checked(
    page: Path, built_site: Path, blocks: Callable[[Path], list[Block]], data: dict[str, Any]
) -> None:
    source = (ROOT / DOCS / page).read_text("utf8")
    name = page.with_suffix("") if page.stem != "index" else page.parent
    (article,) = tree.read((built_site / name / "index.html").read_text("utf8")).named(["article"])
    shown = blocks_of(html=tree.markup(article), source=source, file=f"{DOCS}/{page}")
    tested = blocks(ROOT / DOCS / page)
    assert [block.sha256 for block in shown] == [block.sha256 for block in tested]
    counted = [entry["sha256"] for entry in data["blocks"] if entry["page"] == f"{DOCS}/{page}"]
    assert counted == [block.sha256 for block in tested]


def test_every_row_of_the_curriculum_is_asked(data: dict[str, Any]) -> None:
    asked = {row for question in data["questions"] for row in question["covers"]}
    assert set(curriculum.rows()) - asked == set()


class _Seen(HTMLParser):
    """What the standard library's parser reads of a page: each element with its attributes, and all text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in reversed(attrs)}))

    def handle_data(self, data: str) -> None:
        if not self.elements or self.lasttag not in ("script", "style"):
            self.said.append(data)


def _bare(attributes: dict[str, str]) -> dict[str, str]:
    """Return attributes without the names that lxml gives as values to those that have none, such as `checked`."""
    return {name: "" if value == name else value for name, value in attributes.items()}


def test_the_tree_is_what_other_parsers_see(built_site: Path) -> None:
    for file in sorted(built_site.rglob("*.html")):
        html = file.read_text("utf8")
        seen, page = _Seen(), tree.read(html)
        seen.feed(html)
        seen.close()
        read = [(one.name, _bare(one.attributes)) for one in page.walk()]
        assert read == [(name, _bare(said)) for name, said in seen.elements], file
        assert "".join(page.text.split()) == "".join("".join(seen.said).split()), file
        nested = [[above.name for above in one.parents()] for one in page.walk()]
        parsed = BeautifulSoup(html, "html.parser")
        assert nested == [[above.name for above in one.parents][:-1] for one in parsed.find_all(True)], file


def test_every_program_can_be_downloaded(built_site: Path) -> None:
    for program in programs.all_programs():
        assert (built_site / "programs" / program.path).read_text("utf8") == program.source


def test_every_program_is_current_where_it_is_shown(data: dict[str, Any]) -> None:
    shown = [entry for entry in data["programs"] if entry["pages"]]
    assert shown
    assert [entry["program"] for entry in shown if entry["devices"].get("cpu", {}).get("status") != "verified"] == []


def test_every_section_of_a_program_is_shown(blocks: Callable[[Path], list[Block]]) -> None:
    shown = {block.origin for page in paths() for block in blocks(page) if block.origin}
    used = {origin.partition(":")[0] for origin in shown}
    assert [program.path for program in programs.all_programs() if program.path not in used] == []
    sections = {(p.path, s.name): s.text for p in programs.all_programs() for s in p.sections.values()}
    # Lines that several programs share need to be shown once.
    texts = {text for (path, name), text in sections.items() if {path, f"{path}:{name}"} & shown}
    missing = [f"{path}:{name}" for (path, name), text in sections.items() if text not in texts]
    assert missing == []


def test_the_home_page_shows_the_totals(built_site: Path, data: dict[str, Any]) -> None:
    text = " ".join(tree.read((built_site / "index.html").read_text("utf8")).texts())
    assert f"{data['totals']['blocks']:,} blocks of code" in text
    assert f"{data['totals']['questions']:,} questions" in text
    assert f"TensorFlow {data['environment']['tensorflow']}, Keras {data['environment']['keras']}" in text


def test_no_placeholder_is_left(built_site: Path) -> None:
    files = [file for file in built_site.rglob("*") if file.suffix in TEXTS]
    assert {file.suffix for file in files} == TEXTS
    for file in files:
        text = file.read_text("utf8")
        assert not PLACEHOLDER.search(text), file
        assert "<!-- guide:" not in text, file


def test_of_the_theme_only_what_pages_use_is_published(built_site: Path) -> None:
    files = [file.relative_to(built_site).as_posix() for file in built_site.rglob("*")]
    assert [path for path in files if path.endswith(".map") or "/lunr" in path] == []
    scripts = [*(built_site / "assets" / "javascripts").rglob("*.js")]
    assert len(scripts) == 2, "its own and the search's"
    assert [file for file in scripts if "sourceMappingURL" in file.read_text("utf8")] == []


def test_all_pages_have_one_style_sheet_with_the_themes_in_it(built_site: Path) -> None:
    (joined,) = built_site.glob("assets/style.*.css")
    assert ".md-typeset" in joined.read_text("utf8")
    assert [*built_site.glob("assets/stylesheets/*.css")] == []
    for file in built_site.rglob("*.html"):
        html = file.read_text("utf8")
        assert html.count(joined.name) == (0 if LEADS_ON in html else 1), file


@pytest.mark.parametrize("script", labs.scripts(), ids=lambda script: script.stem)
def test_a_lab_weighs_little_more_than_a_page(script: Path, built_site: Path) -> None:
    folder = built_site / "labs" / script.stem
    assert (folder / "index.html").stat().st_size < 120_000
    assert (folder / f"{script.stem}.ipynb").is_file()
    assert "jp-" not in (folder / "index.html").read_text("utf8")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_notebook_of_each_section_runs(section: str, built_site: Path, tmp_path: Path) -> None:
    found = sorted((built_site / section).rglob("*.ipynb"), key=lambda file: (file.stat().st_size, file))
    assert found, f"no page under docs/{section} shows Python"
    notebook = nbformat.read(found[0], as_version=4)
    temporary = tmp_path / "tmp"  # AutoGraph imports what it writes there, which leaves bytecode
    temporary.mkdir()
    more = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TMPDIR": str(temporary)}
    place, limit = {"metadata": {"path": str(tmp_path)}}, round(busy.stretched(180))
    with kernels.client(notebook, timeout=limit, resources=place) as client:
        kernels.execute(client, env={**os.environ, **more})
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_notebooks_are_valid_and_say_where_they_come_from(page: Path, built_site: Path) -> None:
    name = page.with_suffix("") if page.stem != "index" else page.parent
    file = built_site / name / f"{page.stem}.ipynb"
    html = (built_site / name / "index.html").read_text("utf8")
    assert file.is_file() == ("Open in Colab" in html)
    if file.is_file():
        notebook = nbformat.read(file, as_version=4)
        nbformat.validate(notebook)
        assert "The notebook of [" in notebook.cells[0].source
        assert not any("--8<--" in cell.source for cell in notebook.cells if cell.cell_type == "code")


def test_locked_versions_are_those_of_the_environment(data: dict[str, Any]) -> None:
    assert data["environment"]["tensorflow"] == importlib.metadata.version("tensorflow")
    assert data["environment"]["keras"] == importlib.metadata.version("keras")
