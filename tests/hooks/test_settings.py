"""What mkdocs.yml says beyond what MkDocs checks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hooks import errors, settings
from hooks.errors import GuideError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "nav:\n  - a.md\nextra:\n  redirects: {}\n  repository: {name: a/b, branch: main, pages_branch: pages}\n"


def config(root: Path, text: str) -> Any:
    (root / settings.FILE).write_text(text)
    return SimpleNamespace(extra=yaml.safe_load(text).get("extra", {}))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(errors, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("redirects", "redirect", "4: nothing reads `extra: redirect`. .*did you mean `redirects`"),
        ("extra:", "nav: []\nextra:", "3: the key 'nav' stands twice"),
        ("{name: a/b, branch: main, pages_branch: pages}", "a/b", "5: `extra.repository` does not name"),
        ("branch: main, ", "", "5: `extra.repository` does not name"),
        ("name: a/b", "name: the guide", "5: `extra.repository` does not name"),
        ("name: a/b", "name: 3", "5: `extra.repository` does not name"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(root: Path, old: str, new: str, says: str) -> None:
    settings.check(config(root, GOOD))
    with pytest.raises(GuideError, match=rf"^mkdocs\.yml:{says}"):
        settings.check(config(root, GOOD.replace(old, new, 1)))


def test_the_root_is_absolute_wherever_the_build_starts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    page: Any = SimpleNamespace(file=SimpleNamespace(abs_src_path=str(root / "docs" / "a" / "b.md"), src_uri="a/b.md"))
    for path in (settings.FILE, str(root / settings.FILE)):
        config: Any = SimpleNamespace(config_file_path=path)
        assert settings.root_of(config) == root
        assert settings.name_of(page, config) == "docs/a/b.md"


def test_a_text_that_is_not_utf8_is_named_with_its_line(root: Path) -> None:
    (root / "a.md").write_bytes(b"one\ntwo\nthr\xe9e\n")
    with pytest.raises(GuideError, match=r"^a\.md:3: a character here is not UTF-8") as caught:
        errors.read(root / "a.md")
    assert caught.value.line == 3


def test_a_page_that_leads_to_no_file_is_named(root: Path) -> None:
    (root / "a.md").symlink_to("gone.md")
    with pytest.raises(GuideError, match=r"^a\.md: it cannot be read \(No such file or directory\)"):
        errors.read(root / "a.md")
