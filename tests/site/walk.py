"""Walk through a page with the Tab key: what can be reached, and whether a reader sees where the focus is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.until import until

if TYPE_CHECKING:
    from collections.abc import Callable

# Where the theme hides a control, what stands for it is marked instead. A mark is an outline or a shadow that is not
# there without the focus.
PREPARE = """
() => {
  window.walk = {
    kinds: "a[href], button, input, select, textarea, summary, [tabindex='0']",
    all: () => [...document.querySelectorAll(walk.kinds)].filter(
      (element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && element.tabIndex >= 0
        && !element.closest(".md-search__options")),
    seen: (element) => element.matches("input.md-option") ? element.nextElementSibling
      : element.matches(".tabbed-set > input") ? document.querySelector(`label[for="${element.id}"]`)
      : element.matches(".md-search__input") ? element.form : element,
    look: (element) => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(walk.seen(element));
      return [outlineStyle === "none" || parseFloat(outlineWidth) < 1 ? "" : outlineWidth, boxShadow].join();
    },
    rest: new Map(),
    reached: new Set(),
  };
  for (const element of walk.all()) walk.rest.set(element, walk.look(element));
  return walk.rest.size;
}
"""
STEP = """
() => {
  const element = document.activeElement;
  walk.reached.add(element);
  // The arrow keys reach the other radio buttons of a group.
  if (element.type === "radio") for (const other of document.getElementsByName(element.name)) walk.reached.add(other);
  const [rest, now] = [walk.rest.get(element) ?? "", walk.look(element)];
  const marked = now !== rest && now !== ",none";
  return { over: element === document.body, marked, html: element.outerHTML.slice(0, 120) };
}
"""
MISSED = (
    "() => walk.all().filter((element) => !walk.reached.has(element)).map((element) => element.outerHTML.slice(0, 160))"
)


def walk(press_tab: Callable[[], None], run: Callable[[str], Any]) -> list[str]:
    """Press Tab until the page is over.

    Args:
        press_tab: presses the key once.
        run: returns what a JavaScript function returns.

    Returns:
        The elements that were not reached.

    Raises:
        AssertionError: one that was reached does not show that it has the focus.
    """
    count = int(run(PREPARE))
    assert count > 5, "there is nothing to walk through"

    def shown() -> Any:
        at = run(STEP)
        return at if at["over"] or at["marked"] else None

    # What scrolls becomes a stop when it comes into view, so there are more stops than were counted.
    for _ in range(2 * count + 50):
        press_tab()
        # The theme marks some controls, such as the search field, a frame or two later.
        if until(shown, f"a mark of the focus on {run(STEP)['html']}")["over"]:
            break
    return list(run(MISSED))
