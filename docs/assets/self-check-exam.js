/* A practice or an exam on the self-check page, one question at a time, and the score of an exam.
 *
 * The questions come from one script for each section, loaded when they are needed. Answers are kept by progress.js;
 * where a reader is in a practice or an exam is kept in sessionStorage, for this tab alone:
 *   { mode, ids: ["<question id>", ...], at, answers: { "<question id>": { picked, right } }, done }
 * `view` is the page as self-check.js shows it now.
 */
(() => {
  "use strict";
  if (window.guideExam) return;
  const KEY = "tensorflow-at-scale:self-check";
  const progress = window.guideProgress;
  const quiz = window.guideQuiz;
  const banks = new Map(); // section -> its questions: id -> HTML
  const coming = new Map(); // section -> the promise of its script
  let latest = null; // the state that was asked for last
  let memory = null; // what sessionStorage holds, also where there is none
  let view = null;

  function make(tag, props = {}, ...children) {
    const { role, ...own } = props;
    const element = Object.assign(document.createElement(tag), own);
    if (role) element.setAttribute("role", role);
    element.append(...children);
    return element;
  }

  const button = (text, act, type = "button") => {
    const className = `md-button${type === "submit" ? " md-button--primary" : ""}`;
    const made = make("button", { type, className, textContent: text });
    if (act) made.addEventListener("click", act);
    return made;
  };
  const plural = (count) => `${count} question${count === 1 ? "" : "s"}`;

  /* ---- Where the reader is ---- */

  function save(state) {
    memory = state;
    try {
      if (state) sessionStorage.setItem(KEY, JSON.stringify(state));
      else sessionStorage.removeItem(KEY);
    } catch { /* kept in memory */ }
  }

  function load() {
    let read = memory;
    try {
      read = JSON.parse(sessionStorage.getItem(KEY)) ?? memory;
    } catch { /* as in memory */ }
    const ids = Array.isArray(read?.ids) ? read.ids.filter((id) => view.items.has(id)) : [];
    if (!ids.length || !["practice", "exam"].includes(read.mode)) return null;
    const given = read.answers && typeof read.answers === "object" ? read.answers : {};
    const answers = Object.fromEntries(ids.map((id) => [id, progress.entry(id, given)]).filter(([, entry]) => entry));
    const at = Math.min(Math.max(Math.trunc(read.at) || 0, 0), ids.length - 1);
    return { mode: read.mode, ids, at, answers, done: read.done === true };
  }

  /* ---- Questions ---- */

  function fetched({ name, bank }) {
    if (!coming.has(name)) {
      coming.set(name, new Promise((resolve, reject) => {
        const fail = () => {
          coming.delete(name);
          reject(new Error(name));
        };
        const script = make("script", { src: bank });
        script.addEventListener("load", () => (banks.has(name) ? resolve() : fail()));
        script.addEventListener("error", fail);
        document.head.append(script);
      }));
    }
    return coming.get(name);
  }

  /* The HTML is the site's own: it was built with the page. */
  const boxOf = (id) => {
    const html = banks.get(view.items.get(id).section)?.[id] ?? "";
    return new DOMParser().parseFromString(html, "text/html").querySelector("fieldset");
  };

  const inputs = (box) => [...box.querySelectorAll(".quiz-options input")];
  const isRight = (input) => input.closest("li").dataset.right === "1";

  function answerOf(box) {
    const picked = inputs(box).filter((input) => input.checked).map((input) => input.value);
    return picked.length ? { picked, right: inputs(box).every((input) => input.checked === isRight(input)) } : null;
  }

  /* ---- Practice and exam ---- */

  async function begin(state) {
    const shown = view;
    const needed = view.sections.filter(({ name }) => state.ids.some((id) => view.items.get(id).section === name));
    /* The reader has left the page, or pressed again meanwhile. */
    const past = () => latest !== state || !shown.root.isConnected;
    latest = state;
    if (needed.some(({ name }) => !banks.has(name))) shown.said.textContent = "Loading the questions.";
    try {
      await Promise.all(needed.map(fetched));
    } catch {
      if (!past()) shown.said.textContent = "The questions could not be loaded. Try again when you are online.";
      return;
    }
    if (past()) return;
    shown.said.textContent = "";
    save(state);
    if (state.done) result(state);
    else ask(state);
  }

  function stage(name, first, ...children) {
    view.form.hidden = view.list.hidden = true;
    view.stage.hidden = false;
    view.stage.ariaLabel = name;
    view.stage.replaceChildren(...children);
    first.tabIndex = -1;
    first.focus();
    view.stage.firstElementChild.scrollIntoView({ block: "nearest" });
  }

  function close() {
    save(null);
    view.stage.hidden = true;
    view.stage.replaceChildren();
    view.form.hidden = view.list.hidden = false;
    view.form.querySelector("[type=submit]").focus();
  }

  const reading = (id) => {
    const { again, heading } = view.items.get(id);
    return make("a", { href: again, textContent: heading });
  };

  function ask(state) {
    const id = state.ids[state.at];
    const box = boxOf(id);
    const exam = state.mode === "exam";
    const last = state.at === state.ids.length - 1;
    const go = (at) => begin({ ...state, at });
    const place = make("p", { className: "check-place", textContent: `Question ${state.at + 1} of ${state.ids.length}` });
    const actions = make("p", { className: "check-actions" });
    if (exam) {
      const said = make("span", { className: "quiz-status", role: "status" });
      box.querySelector(".quiz-why").remove();
      box.addEventListener("change", () => said.replaceChildren());
      const next = button(last ? "Finish" : "Next", () => {
        const answer = answerOf(box);
        if (!answer && !said.textContent) {
          said.textContent = "Nothing is chosen. Choose, or press again to leave it out.";
          return;
        }
        if (answer) state.answers[id] = answer;
        if (last) finish(state);
        else go(state.at + 1);
      });
      actions.append(next, " ", button("Stop without a score", close), " ", said);
    } else {
      quiz.enhance(box);
      quiz.restore(box, state.answers[id] ?? null);
      box.addEventListener("guide:answer", () => {
        state.answers[id] = progress.entry(id);
        save(state);
        view.refresh();
      });
      place.append(" · ", reading(id));
      if (state.at) actions.append(button("Previous", () => go(state.at - 1)), " ");
      if (!last) actions.append(button("Next", () => go(state.at + 1)), " ");
      actions.append(button(last ? "Done" : "Stop", close));
    }
    stage(exam ? "Exam" : "Practice", box, place, box, actions);
  }

  function finish(state) {
    progress.write({ ...progress.all(), ...state.answers });
    view.refresh();
    begin({ ...state, done: true });
  }

  function result(state) {
    const right = (ids) => ids.filter((id) => state.answers[id]?.right).length;
    const missed = state.ids.filter((id) => !state.answers[id]?.right);
    const title = make("h2", { textContent: `${right(state.ids)} of ${state.ids.length} right` });
    const head = (text, scope) => make("th", { scope, textContent: text });
    const row = ([text, ...numbers]) =>
      make("tr", {}, head(text, "row"), ...numbers.map((number) => make("td", { textContent: number })));
    const rows = view.sections.map(({ name, title: text }) => [text, state.ids.filter((id) => view.items.get(id).section === name)]);
    const table = make("table", {}, make("caption", { textContent: "Score by section" }),
      make("thead", {}, make("tr", {}, ...["Section", "Right", "Asked"].map((text) => head(text, "col")))),
      make("tbody", {}, ...rows.filter(([, ids]) => ids.length).map(([text, ids]) => row([text, right(ids), ids.length]))));
    const places = new Map(); // address -> [a link, how many questions lead there]
    for (const id of missed) {
      const link = reading(id);
      const [first, count] = places.get(link.href) ?? [link, 0];
      places.set(link.href, [first, count + 1]);
    }
    const again = make("ul", { className: "check-again" }, ...[...places.values()]
      .sort(([, a], [, b]) => b - a).map(([link, count]) => make("li", {}, link, count > 1 ? ` (${plural(count)})` : "")));
    const boxes = state.ids.map((id) => {
      const box = boxOf(id);
      quiz.enhance(box);
      quiz.restore(box, state.answers[id] ?? null);
      if (!state.answers[id]) box.querySelector(".quiz-status").textContent = "You left this one out.";
      box.querySelector(".quiz-why").open = !state.answers[id]?.right;
      box.addEventListener("guide:answer", view.refresh);
      return box;
    });
    stage("Result", title, title, table, make("h3", { textContent: "Read again" }),
      missed.length ? again : make("p", { textContent: "Nothing: every answer was right." }),
      make("p", { className: "check-actions" }, button("Close", close)),
      make("h3", { textContent: "Your answers" }), ...boxes);
  }

  /* Take up what was left, after a reload or Back. */
  function resume(page) {
    view = page;
    const state = load();
    if (state) begin(state);
  }

  window.guideExam = { begin, resume, make, button, plural, bank: (section, questions) => banks.set(section, questions) };
  window.guideSelfCheck?.();
})();
