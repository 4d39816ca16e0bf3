/* Shows the definition of a glossary term: on hover, on focus, and on the first tap. Escape hides it. */
(() => {
  "use strict";

  const EDGE = 8;
  const SOON = 150;
  const LATER = 250;
  let box = null;
  let shown = null;
  let shownBeforeTap = null;
  let tapped = false;
  let timer = 0;

  const termOf = (event) => event.target.closest?.("a.term[aria-describedby]");

  function hide() {
    clearTimeout(timer);
    if (box) box.hidden = true;
    shown = null;
  }

  function show(term) {
    clearTimeout(timer);
    const definition = document.getElementById(term.getAttribute("aria-describedby"));
    if (!definition || shown === term) return;
    if (!box) {
      box = document.createElement("div");
      box.className = "term-note md-typeset";
      /* Screen readers have the definition as the description of the link. */
      box.ariaHidden = "true";
      document.body.append(box);
    }
    box.replaceChildren(...[...definition.childNodes].map((node) => node.cloneNode(true)));
    if (tapped) {
      const hint = document.createElement("p");
      hint.textContent = "Tap the word again to open the glossary.";
      box.append(hint);
    }
    box.hidden = false;
    /* A term may be broken over two lines: the definition goes to the first. */
    const line = term.getClientRects()[0];
    const left = Math.max(EDGE, Math.min(line.left, document.documentElement.clientWidth - box.offsetWidth - EDGE));
    const fits = line.bottom + EDGE + box.offsetHeight < innerHeight;
    const top = fits || line.top < box.offsetHeight + EDGE ? line.bottom + EDGE : line.top - box.offsetHeight - EDGE;
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${top + scrollY}px`;
    shown = term;
  }

  addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const term = termOf(event);
    if (term) {
      clearTimeout(timer);
      timer = setTimeout(() => show(term), SOON);
    } else if (box?.contains(event.target)) {
      clearTimeout(timer);
    } else if (shown && shown !== document.activeElement) {
      clearTimeout(timer);
      timer = setTimeout(hide, LATER);
    } else if (!shown) {
      clearTimeout(timer);
    }
  }, { passive: true });

  addEventListener("pointerdown", (event) => {
    tapped = event.pointerType === "touch";
    shownBeforeTap = shown;
  }, { passive: true });

  addEventListener("focusin", (event) => {
    const term = termOf(event);
    if (term?.matches(":focus-visible") || (term && tapped)) show(term);
  });
  addEventListener("focusout", (event) => { if (termOf(event)) hide(); });

  /* Before the theme's own listener, which would follow the link. */
  addEventListener("click", (event) => {
    const term = termOf(event);
    if (!term) {
      if (!box?.contains(event.target)) hide();
    } else if (tapped && shownBeforeTap !== term) {
      event.preventDefault();
      event.stopPropagation();
      show(term);
    } else {
      hide();
    }
  }, true);

  addEventListener("keydown", (event) => {
    tapped = false;
    if (event.key === "Escape") hide();
  });
  addEventListener("popstate", hide);
})();
