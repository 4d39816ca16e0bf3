"""Front matter: read before MkDocs reads it, and nothing in it that means nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hooks import front
from hooks.errors import GuideError

GOOD = "---\nhide: [toc]\ndescription: A page.\nsearch:\n  aliases: [A]\n  boost: 0.5\n  exclude: true\n---\n# A\n"
WRONG = {
    "nothing": (GOOD, "# A\n", "1: the page has no description"),
    "no key": (GOOD, "---\ndescription\n---\n# A\n", "1: the page has no description"),
    "a misspelt description": ("description", "descriptions", "3: .* no `descriptions`.*did you mean `description`"),
    "a text that never ends": ("---\n# A", "# A", "1: the front matter never ends"),
    "no YAML": ("A page.", "A: page.", "3: the front matter is no YAML: mapping values"),
    "no day": ("A page.", "2026-13-45", "1: the front matter is no YAML: month must be"),
    "a key twice": ("search:", "hide: []\nsearch:", "4: the front matter has the key 'hide' twice"),
    "a key that nothing reads": ("hide", "tags", "2: the front matter of this guide has no `tags`"),
    "a misspelt key": (
        "  aliases",
        "  alias",
        "5: the front matter of this guide has no `search: alias`.*did you mean `aliases`",
    ),
    "an empty description": ("A page.", "''", "3: `description: ` will not do"),
    "a description that is a number": ("A page.", "3", "3: `description: 3` will not do"),
    "half of a character": ("A page.", r'"\uD83D\uDE80"', "3: the front matter holds half of a character"),
    "a description that is a list": ("A page.", "[a]", "3: `description: .*` will not do"),
    "a part that no page has": ("[toc]", "[tok]", "2: `hide: .*` will not do"),
    "hide that is no list": ("[toc]", "toc", "2: `hide: toc` will not do"),
    "a meaning of no term": ("hide", "other-meaning: [worker, cheese]\nhide", "2: `other-meaning: .*` will not do"),
    "search that is a list": (GOOD, "---\ndescription: A.\nsearch: [A]\n---\n", "3: `search: .*` will not do"),
    "a boost that is no number": ("0.5", "high", "6: `search: boost: high` will not do"),
    "a boost without end": ("0.5", ".inf", "6: `search: boost: inf` will not do"),
    "a boost that is a truth": ("0.5", "true", "6: `search: boost: True` will not do"),
    "an exclusion that is a text": ("exclude: true", "exclude: all", "7: `search: exclude: all` will not do"),
}


def test_a_title_is_text() -> None:
    assert front.title_of(SimpleNamespace(title="Save &amp; load &lt;2&gt;")) == "Save & load <2>"  # type: ignore[arg-type]


def test_what_is_right_passes() -> None:
    front.check(GOOD, "docs/a.md")
    front.check(GOOD.replace("---", "--- "), "docs/a.md")


@pytest.mark.parametrize(("old", "new", "says"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, says: str) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    with pytest.raises(GuideError, match=rf"^docs/a\.md:{says}"):
        front.check(text, "docs/a.md")


@pytest.mark.parametrize(
    ("source", "titles", "line"),
    [
        ("---\n# a comment\n---\n# A\n\n```sh\n# a comment\n```\n\n# B\n", 2, 10),
        ("# A\n\n/// details | More\n\n# B\n\n# C\n///\n", 3, 7),
        ("# A\n\n--8<-- 'a page'\n", 2, 1),
        ("text\n", 0, 1),
    ],
)
def test_a_page_has_one_title(source: str, titles: int, line: int) -> None:
    with pytest.raises(GuideError, match=rf"^docs/a\.md:{line}: the page has {titles or 'no'} titles"):
        front.check_title("<h1>A</h1>" * titles, source, "docs/a.md")
    front.check_title("<h1 id='a'>A</h1>", source, "docs/a.md")
