"""`make serve`: an edit renders the pages that it can change, and no other; the result is that of a whole build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.preview import EDIT, PAGE, fetched, server, wait
from tests.site.copied import copy_project
from tests.until import until

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKDOWN = f"docs/{PAGE}.md"
PROGRAM = f"snippets/{PAGE}.py"
# A program that two pages name.
SHARED = "strategies/train_step.py"
LAB = "docs/labs/mirrored-scaling.py"


class Site:
    """A copy of the project and its preview.

    Args:
        project: the copy.
        address: of the home page.
        folder: where the preview's pages lie.
    """

    def __init__(self, project: Path, address: str, folder: Path) -> None:
        self.project, self.address, self.folder = project, address, folder

    def read(self) -> dict[str, bytes]:
        """Return the pages."""
        found = sorted(self.folder.rglob("*.html"))
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in found}

    def written(self) -> dict[str, int]:
        """Return when each page was written."""
        return {
            path.relative_to(self.folder).as_posix(): path.stat().st_mtime_ns for path in self.folder.rglob("*.html")
        }

    def since(self, times: dict[str, int]) -> set[str]:
        """Return the pages that were written since then."""
        return {path for path, when in self.written().items() if times[path] != when}

    def edit(self, file: str, old: str, new: str) -> str:
        """Replace the first `old` of a file and return what the file was."""
        path = self.project / file
        before = path.read_text("utf8")
        assert old in before
        path.write_text(before.replace(old, new, 1), "utf8")
        return before

    def restore(self, file: str, text: str) -> None:
        """Make a file what it was."""
        (self.project / file).write_text(text, "utf8")

    def says(self, *texts: str) -> None:
        """Wait until the log holds one of the texts; a mistake is a line, never a traceback."""
        log = self.project / "log"
        until(lambda: any(text in log.read_text("utf8") for text in texts), f"{texts} in the log", seconds=EDIT)
        assert "Traceback" not in log.read_text("utf8")

    def shows(self, page: str, mark: str, *, gone: bool = False) -> None:
        """Wait until a page shows a text, or no longer does."""
        wait(f"{self.address}{page}", mark, EDIT, gone=gone)

    def answer(self, page: str) -> str:
        """Return the first answer to who asks for a page; silence is none."""
        return until(lambda: fetched(f"{self.address}{page}"), f"an answer to {page}", seconds=EDIT)


# For the whole session: the server takes minutes to start, and every test leaves the project as it was.
@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("preview")
    project = place / "project"
    copy_project(project, drawn=True)
    with (project / LAB).open("a", encoding="utf8") as lab:
        lab.write("# more\n")
    with server(project) as address:
        yield Site(project, address, next((place / "tmp").glob("mkdocs_*")))


def test_an_edit_of_a_page_renders_that_page_alone(site: Site) -> None:
    before, times = site.read(), site.written()
    source = site.edit(MARKDOWN, "\n## ", "\n\nSeen one.\n\n## ")
    site.shows(f"{PAGE}/", "Seen one.")
    assert site.since(times) == {f"{PAGE}/index.html"}
    site.restore(MARKDOWN, source)
    site.shows(f"{PAGE}/", "Seen one.", gone=True)
    assert site.read() == before


def test_an_edit_of_a_program_renders_the_pages_that_name_it(site: Site) -> None:
    docs = site.project / "docs"
    naming = [path.relative_to(docs) for path in docs.rglob("*.md") if SHARED in path.read_text("utf8")]
    pages = {path.with_suffix("").as_posix() for path in naming}
    assert len(pages) > 1

    def until_written(since: dict[str, int]) -> None:
        """Wait until all of them are, and compare: one is written after the other."""
        wanted = {f"{page}/index.html" for page in pages}
        until(lambda: wanted <= site.since(since), f"all of {wanted}", seconds=EDIT)
        assert site.since(since) == wanted

    before, times = site.read(), site.written()
    source = site.edit(f"snippets/{SHARED}", "[start:setup]\n", "[start:setup]\nseen_two = 2\n")
    site.shows("strategies/custom-loops/", "seen_two")
    until_written(times)
    times = site.written()
    site.restore(f"snippets/{SHARED}", source)
    site.shows("strategies/custom-loops/", "seen_two", gone=True)
    until_written(times)
    site.shows(f"programs/{SHARED}", "seen_two", gone=True)
    assert site.read() == before


def test_pages_that_gather_follow_when_they_are_asked_for(site: Site) -> None:
    site.answer("self-check/")
    before = site.read()
    source = site.edit(MARKDOWN, "\n/// quiz | ", "\n/// quiz | Seen three? ")
    site.shows(f"{PAGE}/", "Seen three?")
    assert b"Seen three?" not in (site.folder / "self-check/index.html").read_bytes()
    assert "Seen three?" in site.answer("self-check/")
    site.restore(MARKDOWN, source)
    site.shows(f"{PAGE}/", "Seen three?", gone=True)
    assert "Seen three?" not in site.answer("self-check/")
    assert site.read() == before


def test_a_mistake_leaves_the_page_and_the_next_edit_mends_it(site: Site) -> None:
    before = site.read()
    source = site.edit(MARKDOWN, f'--8<-- "{PAGE}.py', '--8<-- "strategies/mirored.py')
    site.edit(MARKDOWN, "\n## ", "\n\nSeen four.\n\n## ")
    site.says("did you mean `strategies/mirrored.py`")
    assert site.read() == before
    site.shows(f"{PAGE}/", "Seen four.", gone=True)  # the page as it was is served meanwhile
    site.restore(MARKDOWN, source.replace("\n## ", "\n\nSeen five.\n\n## ", 1))
    site.shows(f"{PAGE}/", "Seen five.")
    site.restore(MARKDOWN, source)
    site.shows(f"{PAGE}/", "Seen five.", gone=True)
    assert site.read() == before


def test_a_lab_whose_record_is_stale_is_shown_with_a_warning(site: Site) -> None:
    assert "No current record" in site.answer("labs/mirrored-scaling/")
    site.says(f"{LAB}: this lab changed after it was recorded. Fix: run `make record ARGS={LAB}`.")


def test_a_program_that_goes_is_named(site: Site) -> None:
    before = site.read()
    source = (site.project / PROGRAM).read_text("utf8")
    (site.project / PROGRAM).unlink()
    site.says(f"there is no file {PROGRAM}", f"there is no program `{PAGE}.py`")  # the second in a question
    assert site.read() == before
    site.restore(PROGRAM, source.replace("[start:setup]\n", "[start:setup]\nseen_seven = 7\n", 1))
    site.shows(f"{PAGE}/", "seen_seven")
    site.restore(PROGRAM, source)
    site.shows(f"{PAGE}/", "seen_seven", gone=True)


def test_what_stands_on_every_page_builds_them_all_and_a_mistake_in_it_none(site: Site) -> None:
    before, times = site.read(), site.written()
    source = site.edit("docs/glossary.md", "\n### Replica\n", '\n```python\n--8<-- "no/such.py"\n```\n\n### Replica\n')
    site.says("there is no file snippets/no/such.py")
    assert "</html>" in site.answer(f"{PAGE}/"), "the server answers"
    assert site.read() == before
    site.restore("docs/glossary.md", source.replace("\n### Replica\n\n", "\n### Replica\n\nSeen six. ", 1))
    for page in (f"{PAGE}/", "glossary/"):
        site.shows(page, "Seen six.")
    assert all(times[path] != when for path, when in site.written().items())
    site.restore("docs/glossary.md", source)
    for page in (f"{PAGE}/", "glossary/"):
        site.shows(page, "Seen six.", gone=True)
