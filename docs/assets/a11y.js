/* Names, roles and keys for the controls that the theme makes without them. */
(() => {
  "use strict";

  /* The menu and search buttons of a narrow screen are labels of hidden checkboxes, which no keyboard reaches. */
  const BUTTONS = { __drawer: ["Menu", "guide-menu"], __search: ["Search", "guide-search"] };

  function buttons() {
    for (const [id, [name, kind]] of Object.entries(BUTTONS)) {
      const toggle = document.getElementById(id);
      const label = document.querySelector(`label.md-header__button[for="${id}"]`);
      if (!toggle || !label) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = `${label.className} ${kind}`;
      button.ariaLabel = name;
      button.append(...label.childNodes);
      button.addEventListener("click", () => toggle.click());
      const tell = () => { button.ariaExpanded = String(toggle.checked); };
      toggle.addEventListener("change", tell);
      tell();
      label.replaceWith(button);
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
  function landmarks() {
    for (const nav of document.querySelectorAll(".md-nav--secondary nav")) {
      nav.role = "none";
      nav.removeAttribute("aria-label");
    }
  }

  /* The theme closes search when a page has loaded, also around a reader who was quicker and stands in its field; closed,
   * it hears none of the keys typed there. The first of them opens it again. */
  document.addEventListener("keydown", ({ target }) => {
    const toggle = document.getElementById("__search");
    if (toggle && !toggle.checked && target.matches?.(".md-search__input")) toggle.click();
  }, true);

  let due = false;
  const fix = () => {
    due = false;
    buttons();
    landmarks();
    scrollers();
  };
  const later = () => {
    if (!due) { due = true; requestAnimationFrame(fix); }
  };
  /* The theme adds its controls after the page has loaded, and again after each instant navigation. */
  new MutationObserver(later).observe(document.body, { childList: true, subtree: true });
  later();
})();
