"""What the guide's blocks share: a malformed one stops the build with file and line and is never shown as text."""

from __future__ import annotations

import functools
import html
import re
from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree.ElementTree import Element, SubElement

from pymdownx.blocks.block import Block

from hooks import devices, place
from hooks.errors import GuideError, printable
from hooks.reference import Missing, Stale, preview

if TYPE_CHECKING:
    from collections.abc import Callable

    from hooks.records import Record

DEVICES = {name: device.kind for name, device in devices.TABLE.items()}
NAMES = {"tensorflow": "TensorFlow", "keras": "Keras", "tf_keras": "tf_keras", "python": "Python", "numpy": "NumPy"}
START = re.compile(r"[ \t>]*/{3,}[ ]*(?P<name>[\w-]+)[ ]*(?:\|[ ]*(?P<argument>.*?))?[ ]*$")
OPTION = re.compile(r"[ \t>]*[ ]{4}(?P<name>[\w-]+):")
INLINE_CODE = re.compile(r"`([^`]+)`")


def sub(parent: Element, tag: str, text: str | None = None, **attrs: str) -> Element:
    """Append an element; `class_` and `data_x` name the attributes `class` and `data-x`."""
    element = SubElement(parent, tag, {k.rstrip("_").replace("_", "-"): v for k, v in attrs.items()})
    element.text = text
    return element


def tag(name: str, content: str = "", /, **attrs: str) -> str:
    """Return an element as HTML text; `content` is HTML already, attributes are escaped here."""
    said = "".join(f' {k.rstrip("_").replace("_", "-")}="{html.escape(v)}"' for k, v in attrs.items())
    return f"<{name}{said}>{content}</{name}>"


def words(text: str) -> str:
    """Return text of a program as HTML, with what stands in backticks as code."""
    return INLINE_CODE.sub(r"<code>\1</code>", html.escape(text, quote=False))


def anchor(kind: str, path: str, *more: str) -> str:
    """Return the id of a program's element, such as `program-strategies-mirrored`."""
    return "-".join([kind, *path.removesuffix(".py").split("/"), *more])


def source(path: str, line: int = 0) -> str:
    """Return the placeholder of a program's source in the repository (see `hooks.extension`)."""
    return f"/__source__/snippets/{path}" + (f"#L{line}" if line else "")


def card(path: str) -> str:
    """Return the placeholder of a program's card, on whichever page it is (see `hooks.extension`)."""
    return f"/__program__/{path}"


def stamp(record: Record) -> str:
    """Return where, with what and when a record was made, as HTML: `CPU · TensorFlow 2.21.0 · Keras 3.15.1 · date`."""
    parts = [DEVICES.get(record.device, record.device)]
    parts += [f"{NAMES[name]} {record.versions[name]}" for name in ("tensorflow", "keras") if name in record.versions]
    shown = [html.escape(part) for part in parts]
    return " · ".join([*shown, tag("time", day(record), datetime=day(record))])


def day(record: Record) -> str:
    """Return the date on which a record was made, as `2026-11-21`."""
    return str(record.recorded)[:10]


@functools.lru_cache(maxsize=4)
def _starts(page: str) -> list[tuple[int, str, str]]:
    """Return line, name and argument of everything on a page that looks like the start of a block."""
    found = ((n, START.match(text)) for n, text in enumerate(page.split("\n"), start=1) if "///" in text)
    return [(n, start["name"].lower(), start["argument"] or "") for n, start in found if start]


class GuideBlock(Block):
    """A block of the guide: it takes an argument and its own options, and raises where pymdownx would show text.

    Subclasses say `SHAPE` (how a right one starts, for the cure), `TAG` and `CLASS` of the element, whether it has
    content (`CONTENT`: True required, False forbidden, None either), and `build` it.
    """

    ARGUMENT = True
    OPTIONS: ClassVar[dict[str, tuple[Any, Callable[[Any], Any]]]] = {}
    SHAPE = ""
    TAG = "div"
    CLASS = ""
    CONTENT: bool | None = False

    def _validate(self, parent: Element, arg: str | None, **options: Any) -> bool:
        """Replace pymdownx's check, which shows an invalid block as text."""
        self.argument = (arg or "").strip()
        self.line = self._find_line()
        if not self.argument:
            raise self.error(f"`/// {self.NAME}` says nothing after `|`", f"write `{self.SHAPE}`")
        self._check_twice()
        self.options = {"attrs": {}} | {name: default for name, (default, _) in self.OPTIONS.items()}
        for name, value in options.items():
            if name not in self.OPTIONS:
                known = ", ".join(f"`{known}`" for known in self.OPTIONS) or "it takes none"
                raise self.error(f"`/// {self.NAME}` has no option `{name}`", f"remove it ({known})", f"    {name}:")
            try:
                if isinstance(value, str) and printable(value) != value:
                    raise ValueError("it holds half of a character, as `\\ud83d` makes it")
                self.options[name] = self.OPTIONS[name][1](value)
            except (TypeError, ValueError) as error:
                cure = f"write it after `{name}:`" if value in (None, "") else f"correct `{name}: {value}`"
                raise self.error(f"option `{name}`: {error}", cure, f"    {name}:") from None
        return True

    def _check_twice(self) -> None:
        """Raise for an option that stands twice: YAML takes the last without a word."""
        here, seen = place.current(), set()
        for number, text in enumerate(here.source.split("\n")[self.line :] if self.line else (), self.line + 1):
            option = OPTION.match(text)
            if not option:
                return
            if option["name"] in seen:
                cause = f"`/// {self.NAME}` has the option `{option['name']}` twice"
                raise GuideError(here.file, number, cause, "remove one")
            seen.add(option["name"])

    def _find_line(self) -> int:
        """Return the line of this block: the next that starts a block with this name and argument."""
        found = _starts(place.current().source)
        lines = [line for line, name, argument in found if (name, argument) == (self.NAME, self.argument)]
        seen = self.tracker.setdefault("seen", {})
        nth = seen[self.argument] = seen.get(self.argument, -1) + 1
        return lines[min(nth, len(lines) - 1)] if lines else 0

    def error(self, cause: str, cure: str, needle: str = "") -> GuideError:
        """Return the error at this block's line, or at the first line after it that holds `needle`."""
        here, line = place.current(), self.line
        if needle and line:
            below = here.source.split("\n")[line - 1 :]
            line += next((i for i, text in enumerate(below) if needle in text), 0)
        return GuideError(here.file, line, cause, cure)

    def stash(self, markup: str) -> str:
        """Return a placeholder that becomes `markup` when all other processing is done."""
        return self.md.htmlStash.store(markup)

    def on_create(self, parent: Element) -> Element:
        """Create the element that holds the content while it is parsed."""
        return sub(parent, self.TAG, **({"class": self.CLASS} if self.CLASS else {}))

    def on_markdown(self) -> str:
        """Parse the content as blocks."""
        return "block"

    def on_end(self, block: Element) -> None:
        """Take the content out and let the subclass build the element from it.

        Raises:
            GuideError: the content or what the block refers to is wrong.
        """
        content = list(block)
        for child in content:
            block.remove(child)
        if self.CONTENT is not None and bool(content) is not self.CONTENT:
            cause = "has no content" if self.CONTENT else "takes no content"
            raise self.error(f"`/// {self.NAME} | {self.argument}` {cause}", f"write `{self.SHAPE}`")
        try:
            self.build(block, content)
        except Stale as stale:
            if not preview():
                raise self.error(stale.cause, stale.cure) from None
            self._warn(block, stale)
        except Missing as missing:
            raise self.error(missing.cause, missing.cure) from None

    def _warn(self, block: Element, stale: Stale) -> None:
        """Show in a preview, in place of the block, that its record is out of date."""
        block.clear()
        block.tag = "div"
        block.set("class", "admonition warning guide-stale")
        sub(block, "p", "No current record", class_="admonition-title")
        sub(block, "p", f"{self.argument}: {stale.cause}. {stale.cure[:1].upper()}{stale.cure[1:]}.")

    def build(self, block: Element, content: list[Element]) -> None:
        """Fill the empty element.

        Args:
            block: the element, without children.
            content: what the writer put into the block, parsed.

        Raises:
            Missing: what the block refers to is not there.
            GuideError: it is malformed.
        """
        raise NotImplementedError
