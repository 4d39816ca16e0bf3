"""`/// reported`: an error that others met, in the page and in the index, and what stops the build."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from hooks import error_index
from hooks.errors import GuideError
from tests.hooks import house

THREAD = "https://github.com/tensorflow/tensorflow/issues/62994"
BLOCK = f"""\
/// reported | {THREAD}
    text: |
        Cannot dlopen some <GPU> libraries.
        Skipping registering GPU devices...
    needs: a GPU

The libraries are missing. [Install](b.md) them.
///
"""


def test_text_cure_and_thread_are_shown() -> None:
    html, used = house.render(BLOCK)
    entry = BeautifulSoup(html, "html.parser").select_one("div.error-entry")
    assert entry
    assert entry["id"] == "reported-cannot-dlopen-some-gpu-libraries-skipping-registering"
    assert entry.pre
    assert entry.pre.get_text() == "Cannot dlopen some <GPU> libraries.\nSkipping registering GPU devices...\n"
    stamp = entry.select("p")[-1]
    assert stamp.get_text() == "Reported in tensorflow/tensorflow#62994 · provoked by no program here: it needs a GPU"
    assert [use.text.split()[0] for use in used.reported] == ["Cannot"]
    assert used.errors == []


def test_the_index_has_it_with_its_thread_and_its_cure() -> None:
    html, used = house.render(BLOCK)
    pages = [("heads/a/", "A", used)]
    index = error_index.fill("<!-- guide:errors -->", pages, "docs/errors.md", {"heads/a/": html})
    assert f'<a href="{THREAD}">tensorflow/tensorflow#62994</a>, provoked by no program here' in index
    assert "/__program__/" not in index
    assert "The libraries are missing." not in index
    section = error_index.fill("<!-- guide:errors heads -->", pages, "docs/errors.md", {"heads/a/": html})
    assert "The libraries are missing." in section
    assert "Reported in" not in section


def test_a_text_on_one_line_is_shown_as_it_is_written() -> None:
    """Neither a colon nor a hash is YAML in it."""
    text = "Socket closed: ticket #12 refused, 0x10"
    start, end = BLOCK.index("    text:"), BLOCK.index("    needs:")
    html, used = house.render(f"{BLOCK[:start]}    text: {text}\n{BLOCK[end:].replace('a GPU', 'yes')}")
    assert f"<code>{text}\n</code>" in html
    assert "it needs yes" in html
    assert [use.text for use in used.reported] == [text]


def test_an_address_elsewhere_is_named_by_its_host() -> None:
    html, _ = house.render(BLOCK.replace(THREAD, "https://www.tensorflow.org/guide/tpu"))
    assert '<a href="https://www.tensorflow.org/guide/tpu">www.tensorflow.org</a>' in html


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (THREAD, "tensorflow#62994", "no address of a report"),
        (THREAD, "http://example.org/", "no address of a report"),
        (THREAD, "https://[::1", "no address of a report"),
        ("needs: a GPU", "needs: [a GPU]", "option `needs`: it is read as something else than text"),
        ("    needs: a GPU\n", "", "has no option `needs`"),
        ("needs: a GPU", "needs:", "option `needs`: it is empty"),
        ("The libraries are missing. [Install](b.md) them.\n", "", "has no content"),
    ],
)
def test_a_wrong_one_stops_the_build(old: str, new: str, cause: str) -> None:
    with pytest.raises(GuideError, match=cause) as caught:
        house.render(BLOCK.replace(old, new))
    assert caught.value.line


def test_the_same_text_twice_stops_the_build() -> None:
    with pytest.raises(GuideError, match="a second error"):
        house.render(f"{BLOCK}\n{BLOCK}")
