"""`/// quiz`: a self-check question whose key was computed.

The markup works without JavaScript: real labels and inputs, and a `details` element with the answer, the reason for
every option and what proves it. `docs/assets/quiz.js` adds checking and progress on top.
"""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from hooks import curriculum, place, quiz_key, reference
from hooks.errors import near
from hooks.markup import GuideBlock, card, source, sub, tag
from hooks.quiz_key import Key
from hooks.reference import Missing, Stale
from hooks.used import LETTERS, Question, used

TASK = re.compile(r"\s*\[(?P<mark>[ xX])\]\s+")
IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def identifier(value: Any) -> str:
    """Return the id of a question: words in lower case joined by hyphens."""
    if not isinstance(value, str) or not IDENTIFIER.fullmatch(value):
        raise ValueError(f"`{value}` is not lower-case words joined by hyphens")
    return value


def rows(value: Any) -> list[str]:
    """Return the rows of the curriculum: a list, or text with spaces or commas between."""
    found = value if isinstance(value, list) else str(value).replace(",", " ").split()
    known = curriculum.rows()
    for row in found:
        if row not in list(known):
            raise ValueError(f"{curriculum.FILE} has no row `{row}` ({near(str(row), known)})")
    if len(set(found)) != len(found):
        raise ValueError("a row is named twice")
    return found


@dataclass
class Option:
    """One option of a question while it is taken apart."""

    right: bool
    text: str
    key: Key
    reason: list[Element]

    @property
    def value(self) -> str:
        """Return what readers' progress names it by: it survives reordering and dies with a change of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:8]


class Quiz(GuideBlock):
    """`/// quiz | question`, with `id`, `covers` and a list of options."""

    NAME = "quiz"
    OPTIONS: ClassVar = {"id": ("", identifier), "covers": ((), rows)}
    SHAPE = "/// quiz | Question?"
    TAG = "fieldset"
    CLASS = "quiz"
    CONTENT = True

    def build(self, block: Element, content: list[Element]) -> None:
        """Turn the task list into inputs, reasons and proofs, and note the question for the site."""
        ident, covers = self.options["id"], list(self.options["covers"])
        if not ident:
            raise self.error(f"the question {self.argument!r} has no id", "add `id: lower-case-words`")
        if not covers:
            raise self.error(f"question `{ident}` covers nothing", f"add `covers: [S2]` with rows of {curriculum.FILE}")
        known = used(self.md).questions
        if any(question.id == ident for question in known):
            cause = f"the id `{ident}` is used twice on this page"
            raise self.error(cause, "give each question its own id", f"id: {ident}")
        *stem, last = content
        if last.tag != "ul" or any(child.tag == "ul" and _is_task(child) for child in stem) or not _is_task(last):
            raise self.error(
                f"question `{ident}` does not end with its list of options",
                "end it with `- [x]` and `- [ ]`, each followed by an indented reason, and nothing after them",
            )
        options = [self._option(item) for item in last]
        self._check(ident, options)
        multi = sum(option.right for option in options) > 1
        block.set("id", f"quiz-{ident}")
        block.set("data-quiz", ident)
        legend = sub(block, "legend")
        sub(legend, "span", self.argument, class_="quiz-question")
        count = sum(option.right for option in options)
        sub(legend, "span", f" Choose {count}." if multi else " Choose one.", class_="quiz-hint")
        block.extend(stem)
        self._decide(block, ident, options)
        self._ask(block, ident, options, multi=multi)
        self._answer(block, options)
        known.append(
            Question(
                id=ident,
                page=place.current().file,
                covers=covers,
                key=[option.right for option in options],
                proof=[str(option.key) for option in options],
                multi=multi,
                text=self.argument,
                options=[option.text for option in options],
                line=self.line,
            )
        )

    def _option(self, item: Element) -> Option:
        """Take one list item apart: mark, text, what decides it, reason."""
        loose = len(item) and item[0].tag == "p" and not (item.text or "").strip()
        head = (item[0].text if loose else item.text) or ""
        task = TASK.match(head)
        first = head.strip().split("\n")[0]
        if not task:
            raise self.error(f"the option `{first}` has no mark", "start it with `[x]` or `[ ]`", first)
        try:
            text, key = quiz_key.split(head[task.end() :])
        except Missing as missing:
            raise self.error(f"{missing.cause}: `{first}`", missing.cure, first) from None
        text = " ".join(text.split())
        if not text:
            raise self.error("an option has no text", "write it between the mark and what decides it", first)
        reason = list(item)[1:] if loose else list(item)
        if not reason:
            raise self.error(f"the option `{text}` has no reason", "add an indented paragraph below it", first)
        return Option(task["mark"] in "xX", text, key, reason)

    def _check(self, ident: str, options: list[Option]) -> None:
        """Check what does not need a record: how many options, and that they differ."""
        if not 2 <= len(options) <= len(LETTERS):
            raise self.error(f"question `{ident}` has {len(options)} options", "give it two to six")
        right = sum(option.right for option in options)
        if right in (0, len(options)):
            what = "no right option" if not right else "no wrong option"
            raise self.error(f"question `{ident}` has {what}", "mark at least one `[x]` and at least one `[ ]`")
        if len({option.text for option in options}) < len(options):
            raise self.error(f"question `{ident}` has the same option twice", "remove one")

    def _decide(self, block: Element, ident: str, options: list[Option]) -> None:
        """Compare every mark with what decides it."""
        for option in options:
            try:
                right = option.key.right()
            except Stale as stale:
                if not reference.preview():
                    raise self.error(f"question `{ident}`: {stale.cause}", stale.cure, f"{{{option.key}}}") from None
                sub(block, "p", f"Not checked: {stale.cause}.", class_="guide-stale")
                continue
            except Missing as missing:
                raise self.error(f"question `{ident}`: {missing.cause}", missing.cure, f"{{{option.key}}}") from None
            if right is not None and right is not option.right:
                marked, computed = ("right", "wrong") if option.right else ("wrong", "right")
                raise self.error(
                    f"question `{ident}`: `{option.text}` is marked {marked}, but by its claim it is {computed}",
                    f"mark it `[{'x' if right else ' '}]`, or correct the program behind `{option.key}` and record it",
                    option.text,
                )

    def _ask(self, block: Element, ident: str, options: list[Option], *, multi: bool) -> None:
        """Add the inputs. The search index keeps the question and leaves out options and answer."""
        asked = sub(block, "ol", class_="quiz-options", data_search_exclude="")
        for option in options:
            item = sub(asked, "li", data_right="1" if option.right else "0")
            label = sub(item, "label")
            kind = "checkbox" if multi else "radio"
            sub(label, "input", type=kind, name=f"quiz-{ident}", value=option.value)
            sub(label, "span", option.text)

    def _answer(self, block: Element, options: list[Option]) -> None:
        """Add the answer: every option with right or wrong, its reason and its proof."""
        details = sub(block, "details", class_="quiz-why", data_search_exclude="")
        sub(details, "summary", "Answer and reasons")
        answers = sub(details, "ol", class_="quiz-reasons")
        for option in options:
            word = "Right" if option.right else "Wrong"
            item = sub(answers, "li", class_=f"quiz-{word.lower()}")
            head = sub(item, "p", class_="quiz-verdict")
            sub(head, "strong", f"{word}:", class_="quiz-word").tail = f" {option.text}"
            reason = sub(item, "div", class_="quiz-reason")
            reason.extend(option.reason)
            sub(reason, "p", self.stash(proof(option.key)), class_="quiz-proof")


def _is_task(listing: Element) -> bool:
    """Tell whether a list looks like options: one of its items starts with a task mark."""
    heads = ("".join([item.text or "", (item[0].text or "") if len(item) else ""]) for item in listing)
    return any(TASK.match(head) for head in heads)


def proof(key: Key) -> str:
    """Return what proves an option, as HTML with links to the program's card and to the claim in its source."""
    if key.source:
        link = tag("a", html.escape(urlsplit(key.source).netloc.removeprefix("www.")), href=key.source)
        return f"Source: {link}."
    said = []
    for claim in key.claims:
        program, name = claim.reference.program, claim.reference.name
        try:
            text = reference.program_of(program).source
            value = "true" if claim.value() else "false"
        except Stale:
            text, value = "", "not recorded"
        # The name first: what a pattern begins with is found fast.
        named = re.finditer(rf"{re.escape(name)}(?<!\w{re.escape(name)})\b[\"']?\s*[:=\]]", text)
        line = next((text.count("\n", 0, at.start()) + 1 for at in named), 0)
        link = tag("a", tag("code", html.escape(name)), href=source(program, line))
        said.append(f"{link} is {value} in {tag('a', html.escape(program), href=card(program))}")
    return f"Computed: {', and '.join(said)}."
