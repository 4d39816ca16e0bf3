/* Light, dark, or as the system says. Kept under the theme's own key, which its first inline script reads.
 * The theme's script for this makes a browser style the whole page four more times while it loads.
 */
(() => {
  "use strict";
  const inputs = [...document.querySelectorAll("[data-guide=palette] input")];
  if (!inputs.length) return;
  const { body, documentElement: root } = document;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colours = ["media", "scheme", "primary", "accent"];
  let tint = null;

  function current() {
    const { index } = __md_get("__palette") ?? {};
    return Number.isInteger(index) && inputs[index] ? index : 0;
  }

  /* The one visible button leads to the next choice. */
  const button = (index) => inputs.forEach((input, at) => { input.nextElementSibling.hidden = at !== index; });

  /* What surrounds the page on a phone. Read when nothing else waits to be styled. */
  function surround() {
    if (!tint) {
      tint = Object.assign(document.createElement("meta"), { name: "theme-color" });
      document.head.append(tint);
    }
    tint.content = getComputedStyle(document.querySelector(".md-header")).backgroundColor;
  }

  function choose(index) {
    const given = (input) => Object.fromEntries(colours.map((name) => [name, input.getAttribute(`data-md-color-${name}`)]));
    const color = given(inputs[index]);
    __md_set("__palette", { index, color });
    const { scheme } = index ? color : given(inputs[dark.matches ? 2 : 1]);
    // No fading.
    body.setAttribute("data-md-color-switching", "");
    body.setAttribute("data-md-color-scheme", scheme);
    root.style.colorScheme = scheme === "slate" ? "dark" : "light";
    button(index);
    surround();
    requestAnimationFrame(() => requestAnimationFrame(() => body.removeAttribute("data-md-color-switching")));
  }

  inputs.forEach((input, index) => input.addEventListener("change", () => choose(index)));
  inputs[0].form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    // It would send the form.
    event.preventDefault();
    const next = inputs[(current() + 1) % inputs.length];
    next.click();
    next.focus();
  });
  dark.addEventListener("change", () => { if (current() === 0) choose(0); });
  /* Another tab has chosen. */
  const follow = () => {
    const index = current();
    if (inputs[index].checked) return;
    inputs[index].checked = true;
    choose(index);
  };
  addEventListener("storage", ({ key }) => (key === null || key.endsWith(".__palette")) && follow());
  addEventListener("pageshow", ({ persisted }) => persisted && follow());
  inputs[current()].checked = true;
  button(current());
  (window.requestIdleCallback ?? setTimeout)(surround);
})();
