/* What a page needs before it is printed, and loses afterwards: light colours, open answers, and a mark on links that lead to
 * the site itself. The theme has made their addresses whole, so print.css cannot tell them from links that paper must spell out.
 */
(() => {
  "use strict";
  const { body } = document;
  const undo = [];

  function prepare() {
    if (undo.length) return;
    const scheme = body.getAttribute("data-md-color-scheme");
    body.setAttribute("data-md-color-scheme", "default");
    undo.push(() => body.setAttribute("data-md-color-scheme", scheme));
    for (const details of document.querySelectorAll("details.quiz-why:not([open])")) {
      details.open = true;
      undo.push(() => { details.open = false; });
    }
    for (const link of document.querySelectorAll("article a[href^=http]")) {
      link.toggleAttribute("data-own", link.origin === location.origin);
    }
  }
  const restore = () => undo.splice(0).forEach((step) => step());

  addEventListener("beforeprint", prepare);
  addEventListener("afterprint", restore);
  matchMedia("print").addEventListener("change", ({ matches }) => (matches ? prepare() : restore()));
})();
