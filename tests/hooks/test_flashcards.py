"""The words of the glossary as cards."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from hooks import flashcards, glossary
from hooks.errors import GuideError

SOURCE = """\
# Glossary

## Machines

### Device

A processor. [`tf.device`](https://www.tensorflow.org/api_docs/python/tf/device)

### Per-replica batch {.unlinked}

What one [device](#device) gets. [`tf.data`](https://www.tensorflow.org/guide/data)
"""
HTML = """\
<h1 id="glossary">Glossary</h1>
<h2 id="machines">Machines</h2>
<h3 id="device">Device<a class="headerlink" href="#device" title="Link to this section">&para;</a></h3>
<p>A processor. <a href="https://www.tensorflow.org/api_docs/python/tf/device"><code>tf.device</code></a></p>
<h3 class="unlinked" id="per-replica-batch">Per-replica batch</h3>
<p>What one <a href="#device">device</a> gets.</p>
"""
WORDS = flashcards.words(glossary.parse(SOURCE), HTML, "glossary/")


def test_each_word_has_a_card_that_works_without_javascript() -> None:
    page = BeautifulSoup(flashcards.fill(f"x{flashcards.MARK}y", WORDS, "self-check/"), "html.parser")
    assert [summary.text for summary in page.select("details > summary")] == ["Device", "Per-replica batch"]
    assert "A processor." in page.select("details")[0].text
    assert page.select("details")[1].select("a")[0]["href"] == "../glossary/#device"


def test_no_word_is_lost_in_silence() -> None:
    with pytest.raises(GuideError, match=r"docs/glossary\.md:9: .* does not have the anchor `per-replica-batch`"):
        flashcards.words(glossary.parse(SOURCE), HTML.replace('id="per-', 'id="'), "glossary/")


def test_a_page_without_the_mark_is_left_alone() -> None:
    assert flashcards.fill("text", WORDS, "") == "text"


def test_a_word_ends_where_the_next_heading_starts() -> None:
    assert "Per-replica" not in WORDS[0].meaning
    assert WORDS[0].meaning.startswith("<p>")
    assert WORDS[1].meaning.endswith("</p>")
