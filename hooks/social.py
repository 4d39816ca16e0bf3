"""The picture that a link to a page shows elsewhere: drawn by the build, with fonts that come with Matplotlib.

Source of the size and of the properties: https://ogp.me/ and
https://developer.x.com/en/docs/x-for-websites/cards/overview/summary-card-with-large-image
"""

from __future__ import annotations

import functools
import io
import re
from base64 import b64decode, b64encode
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from hooks import bank
from hooks.cache import cached

FOLDER = "assets/social"
WIDTH, HEIGHT = 1200, 630

_MARGIN = 80
_GROUND, _INK, _MUTED, _TEAL, _BRIGHT, _NIGHT = "#ffffff", "#12242d", "#4b606a", "#00665c", "#5fd6c5", "#0e2a30"
# Sizes of the title, the largest that fits is taken, and how many lines it may have.
_TITLE = (76, 64, 54, 46)
_TITLE_LINES = 3
_TEXT, _TEXT_LINES = 31, 3
_TOP, _GAP = 150, 24
_TITLE_TAG = re.compile(r"<h1\b[^>]*>(.*?)</h1>", re.DOTALL)
# The mark of docs/assets/favicon.svg, in its units: 32 by 32.
_BARS = ((5.0, 9.8), (10.7, 15.5), (16.5, 21.3), (22.2, 27.0))
_STEMS = (
    ((7.4, 11.5), (7.4, 14.0), (7.4, 19.5), (11.0, 22.3), (14.5, 23.5)),
    ((13.1, 11.5), (13.1, 13.5), (13.1, 17.5), (14.4, 19.5), (15.4, 21.5)),
)


def path(url: str) -> str:
    """Return where the picture of a page lies in the site: as its HTML does, so that no two share one.

    Args:
        url: of the page, relative to the home page, which is the empty string.
    """
    name = url.removesuffix(".html")
    return f"{FOLDER}/{name if name.rpartition('/')[2] else f'{name}index'}.png"


def title_of(content: str, name: str) -> str:
    """Return the title that a page shows as plain text; its name in the navigation where it shows none.

    Args:
        content: the HTML of the page.
        name: in the navigation.
    """
    found = _TITLE_TAG.search(content)
    return (bank.plain(found[1].replace("<br>", " ")) if found else "") or name


def card(*, site: str, section: str, title: str, text: str) -> bytes:
    """Return the picture of a page as a PNG, from the cache where nothing has changed.

    Args:
        site: the name of the site.
        section: the name of the page's section; may be empty.
        title: of the page.
        text: one or two sentences on it; may be empty, and is cut where it is long.
    """
    # The cache keeps texts.
    said = (site, section, title, text)
    kept = cached("social", [_drawer(), *said], lambda: b64encode(_draw(*said)).decode())
    return b64decode(kept)


@functools.cache
def _drawer() -> str:
    """Return what a picture depends on besides its words."""
    return f"{Path(__file__).read_text('utf-8')} pillow {version('pillow')} matplotlib {version('matplotlib')}"


def wrap(text: str, font: ImageFont.FreeTypeFont, width: float, most: int) -> list[str]:
    """Return a text as lines of a width; what does not fit into the last ends with an ellipsis.

    Args:
        text: the words.
        font: what they are set in.
        width: in pixels.
        most: how many lines there may be.
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    if len(lines) <= most:
        return lines
    last = lines[most - 1].split()
    while len(last) > 1 and font.getlength(" ".join(last) + " …") > width:
        last.pop()
    return [*lines[: most - 1], " ".join(last) + " …"]


def _draw(site: str, section: str, title: str, text: str) -> bytes:
    image = Image.new("RGB", (WIDTH, HEIGHT), _GROUND)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, WIDTH, 12), fill=_TEAL)
    image.paste(_mark(72), (_MARGIN, 66))
    draw.text((_MARGIN + 94, 102), site, fill=_INK, font=_font(34, bold=True), anchor="lm")
    if section:
        draw.text((WIDTH - _MARGIN, 102), section, fill=_TEAL, font=_font(30), anchor="rm")
    width = WIDTH - 2 * _MARGIN
    size = next((size for size in _TITLE if _fits(title, size, width)), _TITLE[-1])
    head, body = _font(size, bold=True), _font(_TEXT)
    lines = [(line, head, _INK, size * 1.2) for line in wrap(title, head, width, _TITLE_LINES)]
    below = [(line, body, _MUTED, _TEXT * 1.5) for line in wrap(text, body, width, _TEXT_LINES)]
    high = sum(step for *_, step in lines + below) + _GAP
    top = _TOP + (HEIGHT - _MARGIN - _TOP - high) / 2
    for line, font, colour, step in lines:
        draw.text((_MARGIN, top), line, fill=colour, font=font)
        top += step
    top += _GAP
    for line, font, colour, step in below:
        draw.text((_MARGIN, top), line, fill=colour, font=font)
        top += step
    buffer = io.BytesIO()
    # A few colours are enough for letters on white: a tenth of the bytes.
    image.quantize(32).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _fits(title: str, size: int, width: float) -> bool:
    """Tell whether a title needs at most two lines, and no line is wider than the card."""
    font = _font(size, bold=True)
    lines = wrap(title, font, width, _TITLE_LINES)
    return len(lines) < _TITLE_LINES and all(font.getlength(line) <= width for line in lines)


def _mark(size: int) -> Image.Image:
    """Return the site's mark, drawn large and made smaller, so that its edges are smooth."""
    scale = 4 * size / 32
    image = Image.new("RGB", (4 * size, 4 * size), _GROUND)
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle((0, 0, 4 * size - 1, 4 * size - 1), radius=7 * scale, fill=_NIGHT)
    for left, right in _BARS:
        draw.rectangle((left * scale, 5.5 * scale, right * scale, 10 * scale), fill=_BRIGHT)
    for start, bend, first, second, end in _STEMS:
        curve = [start, *(_bezier(bend, first, second, end, step / 12) for step in range(13))]
        for points in (curve, [(32 - x, y) for x, y in curve]):
            line = [(x * scale, y * scale) for x, y in points]
            draw.line(line, fill=_BRIGHT, width=round(1.8 * scale), joint="curve")
    draw.ellipse([(16 - 3.2) * scale, (25 - 3.2) * scale, (16 + 3.2) * scale, (25 + 3.2) * scale], fill=_BRIGHT)
    return image.resize((size, size), Image.Resampling.LANCZOS)


def _bezier(
    start: tuple[float, float],
    first: tuple[float, float],
    second: tuple[float, float],
    end: tuple[float, float],
    t: float,
) -> tuple[float, float]:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    points = (start, first, second, end)
    return (
        sum(weight * x for weight, (x, _) in zip(weights, points, strict=True)),
        sum(weight * y for weight, (_, y) in zip(weights, points, strict=True)),
    )


@functools.cache
def _font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Return DejaVu Sans from Matplotlib's files, in the layout that Pillow always has: the same on every machine."""
    spec = find_spec("matplotlib")
    folder = Path(spec.origin if spec and spec.origin else "").parent / "mpl-data" / "fonts" / "ttf"
    file = folder / ("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")
    return ImageFont.truetype(str(file), size, layout_engine=ImageFont.Layout.BASIC)
