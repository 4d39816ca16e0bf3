"""What a preview looks at, and what it does with what it cannot show."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mkdocs.exceptions import Abort, PluginError
from mkdocs.livereload import LiveReloadServer
from watchdog.events import FileSystemEventHandler

from hooks import programs, site
from hooks.errors import ROOT, GuideError
from hooks.preview import Preview, _listed, pass_over_ignored, refuse_taken_port
from tests.site.serve import reserved
from tests.until import until


def preview(root: Path) -> Preview:
    server = SimpleNamespace(builder=lambda: None, root=str(root / "site"))
    return Preview(root, [root / "docs", root / "mkdocs.yml"], server)  # type: ignore[arg-type]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page")
    (tmp_path / "mkdocs.yml").write_text("")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("as it was")
    return tmp_path


@pytest.fixture
def page(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a page that a build has rendered."""
    path = root / "docs" / "page.md"
    rendered = SimpleNamespace(url="page/", title="Page", file=SimpleNamespace(abs_src_path=str(path)))
    monkeypatch.setattr(Preview, "_pages", lambda self: [rendered])
    return path


def test_what_an_editor_keeps_beside_a_page_is_no_source(root: Path) -> None:
    (root / "docs" / ".#page.md").symlink_to("user@host.123")  # Emacs: it leads nowhere
    (root / "docs" / ".page.md.swp").write_text("")
    (root / "docs" / "page.md~").write_text("")
    assert set(preview(root).seen) == {root / "docs" / "page.md", root / "mkdocs.yml"}


def test_a_file_that_goes_while_the_sources_are_looked_at_is_none(root: Path) -> None:
    (root / "docs" / "gone.md").symlink_to("nowhere")  # it is listed, and there is nothing to look at
    assert set(preview(root).seen) == {root / "docs" / "page.md", root / "mkdocs.yml"}


def test_a_server_looks_at_sources_and_at_nothing_that_was_installed_beside_them(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs, snippets = root / "docs", root / "snippets"
    for name in ("demo/node_modules/package", "demo/__pycache__"):
        (snippets / name).mkdir(parents=True)
    theme = SimpleNamespace(dirs=[str(root / "theme")])  # is not watched
    config = SimpleNamespace(docs_dir=str(docs), config_file_path=str(root / "mkdocs.yml"), theme=theme)
    server = LiveReloadServer(lambda: None, "127.0.0.1", 0, str(root / "site"), polling_interval=0.01)
    listed = set()

    def noted(folder: str) -> Any:
        listed.add(Path(folder))
        return _listed(folder)

    monkeypatch.setattr("hooks.preview._listed", noted)
    server.watch(str(docs))  # as MkDocs does before it asks the plugins
    server.watch(config.config_file_path)
    pass_over_ignored(server, config)  # type: ignore[arg-type]
    server.watch(str(snippets))  # and after it
    told: set[Any] = set()
    handler = FileSystemEventHandler()
    handler.on_any_event = lambda event: told.add(event.src_path)  # type: ignore[method-assign]
    for watch in server._watch_refs.values():
        server.observer.add_handler_for_watch(handler, watch)
    server.observer.start()
    try:
        for edited in (docs / "page.md", root / "mkdocs.yml", snippets / "demo" / "program.py"):
            until(lambda: edited.write_text("") or str(edited) in told, f"{edited} is seen to change")  # noqa: B023
        until(lambda: server._want_rebuild, "the server wants to build")
    finally:
        server.observer.stop()
        server.observer.join()
        server.server_close()
    assert listed == {root, docs, snippets, snippets / "demo"}  # the root for mkdocs.yml, without its folders


def test_a_page_that_goes_lets_the_whole_site_be_built(root: Path, page: Path) -> None:
    looking, built = preview(root), []
    looking.whole = lambda: built.append(page.exists())
    page.unlink()
    looking.rebuild()
    assert built == [False]


def test_a_title_that_came_with_a_mistake_lets_the_whole_site_be_built(
    root: Path, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The menus of all pages show it."""
    looking, built = preview(root), []
    looking.whole = lambda: built.append(page.read_text())

    def render(rendered: Any, config: Any, files: Any) -> str:
        rendered.title = "New"  # as MkDocs does, before it looks at anything else
        if "mistake" in page.read_text():
            raise PluginError("a mistake")
        return ""

    monkeypatch.setattr("hooks.preview._last", SimpleNamespace(config=None, files=None))
    monkeypatch.setattr("hooks.preview.pages", SimpleNamespace(render=render))
    for text in ("# New\n\na mistake", "# New"):
        page.write_text(text)
        looking.rebuild()
    assert built == ["# New"]


@pytest.mark.parametrize("gone", ["demo/plain.py", "demo/beside.py"])
def test_a_program_that_goes_or_a_file_that_it_needs_touches_the_pages_that_named_it(
    root: Path, page: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    folder = root / "snippets" / "demo"
    folder.mkdir(parents=True)
    for name, guide in (("plain.py", '# [tool.guide]\n# files = ["beside.py"]\n'), ("beside.py", "")):
        head = f'# /// script\n# requires-python = ">=3.11,<3.14"\n# dependencies = []\n{guide}# ///\n"""Show it."""\n'
        (folder / name).write_text(f"{head}claims = {{}}\n")
    monkeypatch.setattr(programs, "SNIPPETS", root / "snippets")
    page.write_text("# Page\n\n/// program | demo/plain.py\n///\n")
    server = SimpleNamespace(builder=lambda: None, root=str(root / "site"))
    looking = Preview(root, [root / "docs", root / "snippets"], server)  # type: ignore[arg-type]
    rendered: list[str] = []

    def render(touched: list[Any]) -> bool:
        rendered.extend(one.file.abs_src_path for one in touched)
        raise PluginError(f"there is no {gone}")

    monkeypatch.setattr(looking, "_render", render)
    (root / "snippets" / gone).unlink()
    looking.rebuild()
    looking.rebuild()
    assert rendered == [str(page)] * 2, "it is tried again until it is corrected"


def test_a_module_that_changes_is_named_once_for_each_edit(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = root / "hooks" / "quiz.py"
    module.parent.mkdir()
    module.write_text("")
    server = SimpleNamespace(builder=lambda: pytest.fail("a build would not see it"), root=str(root / "site"))
    looking = Preview(root, [module.parent], server)  # type: ignore[arg-type]
    monkeypatch.setattr(looking, "_render", lambda touched: not touched)
    for edits in (1, 2):
        os.utime(module, ns=(edits, edits))
        looking.rebuild()
        looking.rebuild()
        said = [record.getMessage() for record in caplog.records]
        assert len(said) == edits
        assert said[-1].startswith("hooks/quiz.py: this module has changed")
        assert "run `make serve` again" in said[-1]


def test_a_build_that_fails_leaves_the_pages_and_the_next_build_is_whole(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    looking, mistakes = preview(root), [PluginError("a mistake"), Abort("a build said why")]
    index, config = root / "site" / "index.html", root / "mkdocs.yml"

    def build() -> None:
        assert not index.exists()
        (root / "site" / "half").mkdir()
        if mistakes:
            raise mistakes.pop()
        index.write_text("new")

    looking.whole = build
    os.utime(config, ns=(1, 1))
    for _ in range(2):
        looking.rebuild()
        assert index.read_text() == "as it was"
        assert sorted(path.name for path in root.iterdir()) == ["docs", "mkdocs.yml", "site"]
    assert [record.getMessage() for record in caplog.records] == ["a mistake"], "what was logged is not said again"
    os.utime(config, ns=(2, 2))
    looking.seen = looking._sources()  # the change is taken back
    looking.rebuild()
    assert index.read_text() == "new"
    assert sorted(path.name for path in root.iterdir()) == ["docs", "mkdocs.yml", "site"]


def test_a_page_that_is_not_utf_8_is_named_and_the_pages_stay(
    root: Path, page: Path, caplog: pytest.LogCaptureFixture
) -> None:
    looking = preview(root)
    looking.whole = lambda: pytest.fail("there is nothing to build")
    page.write_bytes("# Café".encode("latin-1"))
    looking.rebuild()
    assert "page.md:1: a character here is not UTF-8" in caplog.text
    assert (root / "site" / "index.html").read_text() == "as it was"


def test_a_mistake_of_the_hooks_is_logged_with_its_place_and_tried_again(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    looking, mistakes = preview(root), [KeyError("no such page")]

    def build() -> None:
        if mistakes:
            raise mistakes.pop()
        (root / "site" / "index.html").write_text("new")

    looking.whole = build
    os.utime(root / "mkdocs.yml", ns=(1, 1))
    looking.rebuild()
    assert "KeyError: 'no such page'" in caplog.text
    assert f'"{__file__}", line ' in caplog.text
    looking.rebuild()
    assert (root / "site" / "index.html").read_text() == "new"


def test_a_build_lets_no_page_without_a_record_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUIDE_PREVIEW", "1")
    config = SimpleNamespace(config_file_path=str(ROOT / "mkdocs.yml"))
    with pytest.raises(GuideError, match=r"mkdocs\.yml: GUIDE_PREVIEW lets pages"):
        site.on_config(config)  # type: ignore[arg-type]


def test_a_taken_port_is_named_before_the_first_build() -> None:
    with reserved() as port:
        config = SimpleNamespace(dev_addr=("127.0.0.1", port))
        named = rf"port {port} of 127\.0\.0\.1 .*`make serve PORT={port + 1}`"
        with socket.create_server(("127.0.0.1", port)), pytest.raises(PluginError, match=named):
            refuse_taken_port(config)  # type: ignore[arg-type]
        refuse_taken_port(config)  # type: ignore[arg-type]
    with pytest.raises(PluginError, match="`make serve PORT=8000`"):
        refuse_taken_port(SimpleNamespace(dev_addr=("127.0.0.1", 99999)))  # type: ignore[arg-type]
