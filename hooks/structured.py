"""What a page is, for search engines: its place in the site and its questions, as JSON-LD.

A data block is not executed, so the security policy does not concern it. Source: https://schema.org/
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hooks.used import Question


def block(data: dict[str, Any]) -> str:
    """Return data as an element; no text in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/ld+json">{text}</script>'


def describe(
    *,
    url: str,
    title: str,
    description: str,
    changed: str,
    site: tuple[str, str],
    path: Sequence[tuple[str, str]],
    questions: Sequence[tuple[str, Question]],
) -> dict[str, Any]:
    """Return what a page is.

    Args:
        url: its address.
        title: its title.
        description: one sentence on it.
        changed: the day of the project's last commit, the same for all pages, as in `2026-11-21`.
        site: name and address of the site.
        path: titles of the parts above the page, from the top, with their addresses; a step needs one.
            Source: https://developers.google.com/search/docs/appearance/structured-data/breadcrumb
        questions: those that it gathers, each with its address.
    """
    home = {"@type": "WebSite", "name": site[0], "url": site[1]}
    if url == site[1]:
        return {"@context": "https://schema.org", **home, "description": description, "inLanguage": "en"}
    article = {
        "@type": "TechArticle",
        "@id": url,
        "url": url,
        "headline": title,
        "description": description,
        "inLanguage": "en",
        "dateModified": changed,
        "isPartOf": home,
    }
    graph: list[dict[str, Any]] = [article, _trail([(site[0], site[1]), *path, (title, url)])]
    if questions:
        parts = [_question(question, address) for address, question in questions]
        graph.append({"@type": "Quiz", "@id": f"{url}#questions", "about": {"@id": url}, "hasPart": parts})
    return {"@context": "https://schema.org", "@graph": graph}


def _trail(path: Sequence[tuple[str, str]]) -> dict[str, Any]:
    steps = [
        {"@type": "ListItem", "position": number, "name": name, "item": url}
        for number, (name, url) in enumerate(path, start=1)
    ]
    return {"@type": "BreadcrumbList", "itemListElement": steps}


def _question(question: Question, address: str) -> dict[str, Any]:
    """Return a question without its answers: those who learn from this data should not learn them from here."""
    kind = "Checkbox" if question.multi else "Multiple choice"
    return {"@type": "Question", "@id": address, "eduQuestionType": kind, "text": question.text}
