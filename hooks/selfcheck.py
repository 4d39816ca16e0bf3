"""The self-check page: every question of the site, by section and page.

A page shows the list where it has `<!-- guide:self-check -->`: links, so that it works without JavaScript and stays
light. The questions themselves lie beside the page, one script for each section, which `self-check-exam.js` loads when
a reader starts; a script, because a page that was opened from a file may not fetch anything else.
"""

from __future__ import annotations

import html
import json
import re
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING

from mkdocs.utils import get_relative_url

from hooks import bank
from hooks.markup import tag

if TYPE_CHECKING:
    from hooks.bank import Asked

MARK = "<!-- guide:self-check -->"
SCRIPTS = ("assets/self-check-exam.js", "assets/self-check.js")


def slug(section: str) -> str:
    """Return the name of a section in addresses and class names."""
    return re.sub(r"[^a-z0-9]+", "-", section.lower()).strip("-")


def sections(asked: list[Asked]) -> dict[str, list[Asked]]:
    """Return the questions by the title of their section, in the order of the site."""
    found: dict[str, list[Asked]] = {}
    for one in asked:
        found.setdefault(one.page.section, []).append(one)
    return found


def files(asked: list[Asked], url: str) -> dict[str, str]:
    """Return the scripts with the questions, by their paths below the site's root.

    Args:
        asked: every question.
        url: the address of the self-check page, below the site's root.
    """
    found = {}
    for section, questions in sections(asked).items():
        boxes = {one.question.id: bank.rebase(one.html, one.page.url, onto=url) for one in questions}
        # `<` as an escape: no element can end where a tool puts the script into a page.
        data = json.dumps(boxes, ensure_ascii=False).replace("<", "\\u003c")
        text = f"guideExam.bank({json.dumps(slug(section))}, {data});\n"
        # Named by its content: no cache holds another version than the page's.
        found[f"{url}{slug(section)}.{sha256(text.encode()).hexdigest()[:8]}.js"] = text
    return found


def fill(content: str, asked: list[Asked], url: str) -> str:
    """Return the HTML of a page with the list in place of its mark.

    Args:
        content: the page.
        asked: every question.
        url: the page's address below the site's root.
    """
    return content.replace(MARK, listing(asked, url)) if MARK in content else content


def listing(asked: list[Asked], url: str) -> str:
    """Return every question as a link, by section and page."""
    scripts = list(files(asked, url))
    parts = []
    for script, (section, questions) in zip(scripts, sections(asked).items(), strict=True):
        name = slug(section)
        pages = "".join(
            _page(list(group), url) for _, group in groupby(questions, key=lambda one: (one.page.url, one.page.title))
        )
        heading = tag("h2", html.escape(section), id=name)
        parts.append(
            tag(
                "section",
                heading + pages,
                class_="check-section",
                data_section=name,
                data_bank=get_relative_url(script, url),
            )
        )
    loaded = "".join(tag("script", src=get_relative_url(script, url), defer="defer") for script in SCRIPTS)
    return tag("div", "".join(parts), class_="self-check", data_search_exclude="") + loaded


def _page(questions: list[Asked], url: str) -> str:
    """Return the questions of one page, folded."""
    first, count = questions[0], len(questions)
    noun = "question" if count == 1 else "questions"
    counted = tag("span", f"{count} {noun}", class_="check-count")
    summary = tag("summary", f"{html.escape(first.page.title)} {counted}")
    items = "".join(
        tag(
            "li",
            tag("a", _question(one), href=get_relative_url(one.url, url)),
            data_question=one.question.id,
            data_again=get_relative_url(one.again, url),
            data_heading=one.heading,
        )
        for one in questions
    )
    return tag("details", summary + tag("ol", items), class_="check-page")


def _question(one: Asked) -> str:
    """Return the text of a question, with its code as code."""
    found = re.search(r'<span class="quiz-question">(.*?)</span><span class="quiz-hint">', one.html, re.DOTALL)
    inside = found[1] if found else html.escape(one.question.text)
    return re.sub(r"</?(?!code\b)[a-z][^>]*>", "", inside)
