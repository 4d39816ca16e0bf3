"""`/// widget | name`: a drawing that the reader can move. The content is what stands there without JavaScript.

The script `docs/assets/widgets/widget.js` is loaded by the pages that have a widget and by no other. It takes what to
show from `docs/assets/widgets/<name>.js`, puts sliders and a drawing into the element, and hides the content.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hooks.errors import ROOT
from hooks.markup import GuideBlock, sub, tag

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

FOLDER = "assets/widgets"  # in the site
WIDGETS = ROOT / "docs" / FOLDER
# No widgets: what shows them, and what helps them.
SHOWS, HELPS = "widget.js", "units.js"
NAME = re.compile(r"[a-z]+(?:-[a-z]+)*")


def names() -> list[str]:
    """Return the names of the widgets there are."""
    return sorted(file.stem for file in WIDGETS.glob("*.js") if file.name not in (SHOWS, HELPS))


class Widget(GuideBlock):
    """`/// widget | name` with a figure or a table as its content."""

    NAME = "widget"
    SHAPE = "//// widget | name, then a figure or a table for readers without JavaScript, then ////"
    CLASS = "widget"
    CONTENT = True

    def build(self, block: Element, content: list[Element]) -> None:
        """Mark the element for the script and keep the content as the fallback.

        Raises:
            GuideError: there is no such widget, or it stands on this page already.
        """
        name = self.argument
        if not NAME.fullmatch(name) or name not in names():
            known = ", ".join(names())
            raise self.error(f"there is no widget `{name}`", f"write docs/{FOLDER}/{name}.js, or use one of {known}")
        seen = self.tracker.setdefault("widgets", set())
        if name in seen:
            raise self.error(f"a second widget `{name}` on this page", "remove it")
        seen.add(name)
        block.set("data-widget", name)
        sub(block, "div", class_="widget-fallback").extend(content)
        if len(seen) == 1:
            script = tag("script", type="module", src=f"/__root__/{FOLDER}/{SHOWS}")
            sub(block, "div", self.stash(script), class_="widget-script", hidden="hidden")
