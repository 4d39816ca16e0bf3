/* Names, roles and keys for the controls that the theme makes without them. */
(() => {
  "use strict";

  /* The menu and search buttons of a narrow screen are labels of hidden checkboxes, which no keyboard reaches. */
  const BUTTONS = { __drawer: ["Menu", "guide-menu"], __search: ["Search", "guide-search"] };
  const MENU = ".md-sidebar--primary";
  const FIELD = ".md-search__input";

  const one = (selector) => document.querySelector(selector);

  /* To what was opened: the field, or the first link of the list on top. */
  function enter(id) {
    const lists = document.querySelectorAll(`${MENU}, ${MENU} .md-nav__toggle:checked ~ .md-nav`);
    const seen = (link) => link.checkVisibility({ visibilityProperty: true });
    const to = id === "__search" ? one(FIELD) : [...[...lists].at(-1).querySelectorAll("a, button.md-nav__link")].find(seen);
    to?.focus();
  }

  /* A button in the place of a label, with what it holds. */
  function instead(label) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = label.className;
    if (label.id) button.id = label.id;
    button.append(...label.childNodes);
    label.replaceWith(button);
    return button;
  }

  function buttons() {
    for (const [id, [name, kind]] of Object.entries(BUTTONS)) {
      const toggle = document.getElementById(id);
      const label = document.querySelector(`label.md-header__button[for="${id}"]`);
      if (!toggle || !label) continue;
      const button = instead(label);
      button.classList.add(kind);
      button.ariaLabel = name;
      button.addEventListener("click", () => {
        toggle.click();
        if (toggle.checked) enter(id);
      });
      const tell = () => { button.ariaExpanded = String(toggle.checked); };
      toggle.addEventListener("change", tell);
      tell();
    }
  }

  /* In that menu, so are what opens a list, of pages or of the contents of this one, and what leads back from it. */
  function levels() {
    for (const label of document.querySelectorAll(`${MENU} label:not([for=__drawer])`)) {
      const button = instead(label);
      if (label.matches(".md-nav__title")) button.ariaLabel = `Back from ${button.textContent.trim()}`;
      else if (!button.textContent.trim()) button.ariaLabel = `Pages of ${button.previousElementSibling.textContent.trim()}`;
      button.setAttribute("for", label.htmlFor); // the theme's styles ask for it
      button.addEventListener("click", () => {
        turn(label.htmlFor);
        enter("__drawer");
      });
    }
  }

  /* What scrolls sideways can be scrolled by keyboard, and says what it is. An observer is told when the sizes are known;
   * to ask for them earlier would make the browser lay out the page once more. */
  const SCROLL = ".md-typeset__scrollwrap, .widget-drawing";
  const watched = new WeakSet();
  const sizes = new ResizeObserver((entries) => {
    const wide = entries.map(({ target }) => target).filter((box) => box.scrollWidth > box.clientWidth);
    if (!wide.length) return;
    const all = [...document.querySelectorAll(SCROLL)];
    for (const box of wide) {
      box.tabIndex = 0;
      box.role = "region";
      box.ariaLabel ||= box.querySelector("caption")?.textContent.trim() || box.querySelector("svg")?.ariaLabel
        || `Table ${all.indexOf(box) + 1}`;
    }
  });

  function scrollers() {
    for (const box of document.querySelectorAll(SCROLL)) {
      if (!watched.has(box)) sizes.observe(box);
      watched.add(box);
    }
  }

  /* A landmark for each heading is noise to those who move by landmarks. */
  function roles() {
    for (const nav of document.querySelectorAll(".md-nav--secondary nav")) {
      nav.role = "none";
      nav.removeAttribute("aria-label");
    }
    /* What the theme says for a moment, and how much a search has found. */
    for (const said of document.querySelectorAll(".md-dialog, .md-search-result__meta")) said.role = "status";
  }

  const open = (id) => document.getElementById(id)?.checked;
  const turn = (id) => document.getElementById(id)?.click();

  document.addEventListener("keydown", ({ key, target }) => {
    /* The theme closes search when a page has loaded, also around a reader who was quicker and stands in its field; closed,
     * it hears none of the keys typed there. The first of them opens it again. */
    if (!open("__search") && target.matches?.(FIELD)) turn("__search");
    if (key !== "Escape") return;
    /* It leads back to the button of what it closes: the search is closed by the theme. */
    if (open("__search")) one(".guide-search")?.focus();
    else if (open("__drawer")) {
      turn("__drawer");
      one(".guide-menu")?.focus();
    }
  }, true);

  /* A reader who moves on leaves the menu, which would cover what has the focus. */
  document.addEventListener("focusin", ({ target }) => {
    if (open("__drawer") && !target.closest(`${MENU}, .guide-menu`)) turn("__drawer");
  });

  /* The theme listens for keys; what is pasted or spoken brings none. */
  document.addEventListener("input", ({ target }) => {
    if (target.matches(FIELD)) target.dispatchEvent(new KeyboardEvent("keyup"));
  });

  /* With instant navigation a page arrives without a load, and takes what had the focus away. */
  let at = location.pathname;
  window.document$?.subscribe(() => {
    if (location.pathname === at) return;
    at = location.pathname;
    if (document.activeElement !== document.body) return; // a reader who was quicker, in a field
    const place = document.getElementById(location.hash.slice(1)) ?? one("article h1");
    if (!place) return;
    if (place.tabIndex < 0) place.tabIndex = -1;
    place.focus({ preventScroll: true });
  });

  let due = false;
  const fix = () => {
    due = false;
    buttons();
    levels();
    roles();
    scrollers();
  };
  const later = () => {
    if (!due) { due = true; requestAnimationFrame(fix); }
  };
  /* The theme adds its controls after the page has loaded, and again after each instant navigation. */
  new MutationObserver(later).observe(document.body, { childList: true, subtree: true });
  later();
})();
