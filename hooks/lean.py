"""Take out of a page what no reader sees: elements around uncoloured code, white space, long numbers in drawings.

More than half of the elements of highlighted code stand around names, operators, punctuation and spaces, which have no
colour. The text stays as it is.

Also, boxes for what scripts put into a page while it loads: a browser looks again at the style of all neighbours of a
new element and of all that lies in them, which on a page is everything.
"""

from __future__ import annotations

import re

from hooks.paths import shorter

# Short names of Pygments' tokens: https://pygments.org/docs/tokens/
_PLAIN = re.compile(r'<span class="(?:n|o|p|w)">([^<]*)</span>')
# The theme's script puts these tables into a box that scrolls.
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_QUESTION_END = "</fieldset>"
_EMPTY = "<pre><span></span>"
# Where white space counts, or is a script's own.
_KEPT = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL)
_SPACE = re.compile(r"\s*\n\s*")


def lean(html: str) -> str:
    """Return the content of a page with plain tokens as plain text."""
    return _PLAIN.sub(r"\1", html).replace(_EMPTY, "<pre>")


def tight(html: str) -> str:
    """Return a page whose lines are joined by a line break alone; code and scripts are left as they are."""
    pieces = _KEPT.split(html)
    # Each piece is followed by what is kept and by the name of its element.
    return "".join(_SPACE.sub("\n", piece) if at % 3 == 0 else piece for at, piece in enumerate(pieces) if at % 3 < 2)


def boxed(html: str) -> str:
    """Return the content of a page with each plain table in a box, and one for the score after the last question."""
    html = _TABLE.sub(r'<div class="plain-table">\g<0></div>', html)
    before, end, after = html.rpartition(_QUESTION_END)
    return f'{before}{end}<div class="quiz-end"></div>{after}' if end else html


def on_page_content(html: str, **_: object) -> str:
    """Make the content of a page leaner."""
    return boxed(shorter(lean(html)))


def on_post_page(output: str, **_: object) -> str:
    """Make the whole page tighter."""
    return tight(output)
