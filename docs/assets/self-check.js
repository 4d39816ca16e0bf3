/* The self-check page: progress, and the choice of a practice or an exam over the questions that it lists, which
 * self-check-exam.js holds. Without these files the page is a list of links.
 */
(() => {
  "use strict";
  if (window.guideSelfCheck) return window.guideSelfCheck(); // instant navigation runs a page's scripts again
  const progress = window.guideProgress;
  let begin, resume, make, button, plural; // of self-check-exam.js
  let view = null; // the page as it is shown now

  function shuffled(list) {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  }

  /* ---- Progress ---- */

  function refresh() {
    const all = progress.all();
    const right = new Map();
    let wrong = 0;
    for (const [id, { li, section, state }] of view.items) {
      const entry = progress.entry(id, all);
      li.dataset.state = entry ? (entry.right ? "right" : "wrong") : "";
      state.textContent = entry ? (entry.right ? " ✓ right" : " ✗ not right") : "";
      if (entry?.right) right.set(section, (right.get(section) ?? 0) + 1);
      else if (entry) wrong++;
    }
    let total = 0;
    for (const { name, count, told, meter } of view.sections) {
      told.textContent = `${right.get(name) ?? 0} of ${count} right`;
      meter.value = right.get(name) ?? 0;
      total += right.get(name) ?? 0;
    }
    for (const [count, ids] of view.pages) {
      count.textContent = `${ids.filter((id) => progress.entry(id, all)?.right).length} of ${ids.length} right`;
    }
    const rest = wrong ? `, ${wrong} answered but not right` : "";
    view.total.textContent = `${total} of ${plural(view.items.size)} right${rest}.`;
  }

  /* Returns the button that clears and the one that undoes it, which stands beside what is told, for that is read aloud. */
  function clearing(said) {
    let before = {};
    const clear = button("Clear all my answers", () => {
      before = undo.isConnected ? { ...before, ...progress.all() } : progress.all();
      progress.write({});
      refresh();
      said.textContent = "Cleared.";
      said.after(undo);
    });
    const undo = button("Undo", () => {
      progress.write({ ...before, ...progress.all() });
      refresh();
      said.textContent = "Your answers are back.";
      clear.focus(); // before the button that has the focus goes
      undo.remove();
    });
    return [clear, undo];
  }

  /* ---- The form ---- */

  function form() {
    const said = make("span", { className: "quiz-status", role: "status" });
    const [clear, undo] = clearing(said);
    const tell = (text) => {
      undo.remove();
      said.textContent = text;
    };
    const row = (text, control) => make("label", { className: "check-row" }, make("span", { textContent: text }), control);
    const list = (name, options) => make("select", { name }, ...options.map(([value, text]) => make("option", { value, textContent: text })));
    const sections = make("fieldset", { className: "check-sections" }, make("legend", { textContent: "Sections" }));
    for (const section of view.sections) {
      const box = make("input", { type: "checkbox", name: "section", value: section.name, checked: true });
      section.told = make("span", { className: "check-count" });
      section.meter = make("progress", { max: section.count, value: 0, ariaHidden: "true" });
      sections.append(make("label", {}, box, make("span", { textContent: section.title }), section.told, section.meter));
    }
    const modes = make("fieldset", { className: "check-modes" }, make("legend", { textContent: "How" }));
    const about = { practice: "Practice: the reasons after each answer", exam: "Exam: one attempt at each, the score at the end" };
    for (const [value, text] of Object.entries(about)) {
      const box = make("input", { type: "radio", name: "mode", value, checked: value === "practice" });
      modes.append(make("label", {}, box, make("span", { textContent: text })));
    }
    const which = row("Questions", list("which", [["open", "not yet right"], ["wrong", "answered, not right"], ["all", "all"]]));
    const number = row("How many", list("number", [["10", "10"], ["20", "20"], ["40", "40"], ["0", "all"]]));
    number.hidden = true;
    modes.append(which, number);
    const actions = make("p", { className: "check-actions" }, button("Start", null, "submit"), " ", clear, " ", said);
    const made = make("form", { className: "check-form" }, sections, modes, actions);
    made.addEventListener("change", () => {
      const exam = new FormData(made).get("mode") === "exam";
      which.hidden = exam;
      number.hidden = !exam;
      tell("");
    });
    made.addEventListener("submit", (event) => {
      event.preventDefault();
      const wanted = new FormData(made);
      const ids = drawn(wanted);
      if (ids.length) return begin({ mode: wanted.get("mode"), ids, at: 0, answers: {}, done: false });
      tell(wanted.has("section") ? "No question is left here." : "Choose at least one section.");
    });
    view.said = said;
    return made;
  }

  function drawn(wanted) {
    const sections = wanted.getAll("section");
    const ids = [...view.items].filter(([, { section }]) => sections.includes(section)).map(([id]) => id);
    if (wanted.get("mode") === "exam") return shuffled(ids).slice(0, Number(wanted.get("number")) || ids.length);
    const keep = { all: () => true, open: (entry) => !entry?.right, wrong: (entry) => entry && !entry.right };
    const all = progress.all();
    return ids.filter((id) => keep[wanted.get("which")](progress.entry(id, all)));
  }

  /* ---- The page ---- */

  function mount() {
    const root = document.querySelector(".self-check");
    // Instant navigation loads both files in any order; the later one starts.
    if (!root || root.dataset.ready || !window.guideExam) return;
    ({ begin, resume, make, button, plural } = window.guideExam);
    root.dataset.ready = "1";
    const groups = [...root.querySelectorAll(".check-section")];
    const items = new Map();
    for (const group of groups) {
      for (const li of group.querySelectorAll("[data-question]")) {
        const state = make("span", { className: "check-state" });
        li.append(state);
        const { question, again, heading } = li.dataset;
        items.set(question, { li, state, again, heading, section: group.dataset.section });
      }
    }
    const sections = groups.map((group) => ({
      name: group.dataset.section, bank: group.dataset.bank, title: group.querySelector("h2").textContent,
      count: group.querySelectorAll("[data-question]").length,
    }));
    const pages = new Map([...root.querySelectorAll(".check-page")].map((page) => [
      page.querySelector(".check-count"), [...page.querySelectorAll("[data-question]")].map((li) => li.dataset.question),
    ]));
    const list = make("div", { className: "check-list" });
    const total = make("p", { className: "check-total" });
    view = { root, items, sections, pages, list, total };
    view.stage = make("div", { className: "check-stage", hidden: true, role: "region" });
    view.refresh = refresh;
    view.form = form();
    list.append(...groups);
    root.append(total, view.form, view.stage, list);
    refresh();
    resume(view);
  }

  const again = () => view?.root.isConnected && refresh();
  addEventListener("storage", (event) => progress.concerns(event) && again()); // another tab
  addEventListener("pageshow", (event) => event.persisted && again()); // Back, from the browser's cache of pages
  window.guideSelfCheck = mount;
  mount();
})();
