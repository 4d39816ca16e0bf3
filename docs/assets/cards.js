/* The code of a whole program, put into its card when a reader opens it. Without this file a link leads to it. */
(() => {
  "use strict";
  async function fill(card) {
    const link = card.querySelector(".program-read");
    if (!link || link.dataset.asked) return;
    link.dataset.asked = "1";
    try {
      const answer = await fetch(`${link.href}.txt`);
      if (!answer.ok) throw new Error(answer.statusText);
      // The site's own file. It is parsed as a document of its own, in which nothing runs.
      const shown = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      const code = shown.querySelector("code");
      // It scrolls sideways.
      code.tabIndex = 0;
      window.guideCopy?.(code);
      card.append(...shown.childNodes);
      link.remove();
    } catch {
      // From a file, or without a network: the link stays.
      delete link.dataset.asked;
    }
  }

  // `toggle` does not bubble.
  addEventListener("toggle", ({ target }) => {
    if (target.open && target.matches?.("details.guide-program")) fill(target);
  }, true);
})();
