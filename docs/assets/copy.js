/* A button that copies, for each block of code. The theme puts in one after the other and measures the page after each;
 * here they come when the page is there. Code that comes later asks for its button itself.
 */
(() => {
  "use strict";
  /* A page from another machine without encryption. */
  if (!navigator.clipboard) return;

  function button(code) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "md-code__button";
    made.dataset.mdType = "copy";
    made.ariaLabel = made.title = "Copy to clipboard";
    made.addEventListener("click", async () => {
      const { needs } = code.closest(".highlight")?.dataset ?? {};
      const text = (needs ? needs + "\n\n" : "") + code.textContent;
      /* The browser, or the reader, may forbid it. */
      const said = await navigator.clipboard.writeText(text).then(() => "Copied to", () => "Could not copy to");
      window.alert$?.next(`${said} clipboard`);
    });
    const box = document.createElement("div");
    box.className = "md-code__nav";
    box.append(made);
    code.before(box);
  }

  /* A few milliseconds at a time: a reader may want to scroll. */
  function fill() {
    const end = performance.now() + 6;
    for (const code of document.querySelectorAll(".md-typeset pre > code:not(.md-code__nav ~ code)")) {
      if (performance.now() > end) return later();
      button(code);
    }
  }
  const later = () => (window.requestIdleCallback ?? setTimeout)(fill);

  window.guideCopy = button;
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", later);
  else later();
  window.document$?.subscribe(later);
})();
