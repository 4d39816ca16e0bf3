/* A button that copies, for each block of code. The theme puts in one after the other and measures the page after each;
 * here all come at once, when the page is there. Code that comes later asks for its button itself.
 */
(() => {
  "use strict";
  function button(code) {
    if (!navigator.clipboard) return; // a page from another machine without encryption
    const made = document.createElement("button");
    made.type = "button";
    made.className = "md-code__button";
    made.dataset.mdType = "copy";
    made.ariaLabel = made.title = "Copy to clipboard";
    made.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      window.alert$?.next("Copied to clipboard");
    });
    const box = document.createElement("div");
    box.className = "md-code__nav";
    box.append(made);
    code.before(box);
  }

  function fill() {
    for (const code of document.querySelectorAll(".md-typeset pre > code")) {
      if (!code.parentElement.querySelector(":scope > .md-code__nav")) button(code);
    }
  }
  const later = () => (window.requestIdleCallback ?? setTimeout)(fill);

  window.guideCopy = button;
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", later);
  else later();
  window.document$?.subscribe(later);
})();
