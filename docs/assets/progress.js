/* What a reader has answered. It stays on the reader's machine, in localStorage under KEY:
 *   { "<question id>": { "picked": ["<value of an input>", ...], "right": true } }
 * What is read from there is only ever compared, never put into the page.
 */
(() => {
  "use strict";
  const KEY = "tensorflow-at-scale:quiz";
  // Takes the place of a storage that is denied or full.
  let memory = null;

  function all() {
    if (memory) return memory;
    try {
      const read = JSON.parse(localStorage.getItem(KEY));
      return read && typeof read === "object" && !Array.isArray(read) ? read : {};
    } catch {
      return {};
    }
  }

  function write(entries) {
    try {
      localStorage.setItem(KEY, JSON.stringify(entries));
      memory = null;
    } catch {
      memory = entries;
    }
  }

  function entry(id, entries = all()) {
    const found = Object.hasOwn(entries, id) ? entries[id] : null;
    const picked = Array.isArray(found?.picked) ? found.picked.filter((value) => typeof value === "string") : [];
    return picked.length ? { picked, right: found.right === true } : null;
  }

  /* Whether a storage event of another tab is about answers. */
  const concerns = (event) => event.key === KEY || event.key === null;

  window.guideProgress = { all, write, entry, concerns };
})();
