/* Checking and progress for <fieldset class="quiz">, which works without this file. progress.js keeps the answers. */
(() => {
  "use strict";
  const progress = window.guideProgress;
  const CHOOSE = "Choose an answer first.";
  const RIGHT = "Right. The reasons are under the answers.";
  const WRONG = "Not right. The reason is under each answer you chose.";
  const MORE = "Not complete: more answers are right.";
  // Question element -> the stored entry it shows, as text.
  const shown = new WeakMap();

  const make = (tag, props, ...children) => {
    const element = Object.assign(document.createElement(tag), props);
    element.append(...children);
    return element;
  };

  /* Those of the page itself: what the self-check page shows is its own. */
  const questions = () => [...document.querySelectorAll("fieldset.quiz[data-quiz]")].filter((box) => !box.closest(".self-check"));
  const itemsOf = (box) => [...box.querySelectorAll(".quiz-options > li")];
  const inputOf = (item) => item.querySelector("input");
  const isRight = (item) => item.dataset.right === "1";

  function forget(box) {
    box.querySelector(".quiz-status").textContent = "";
    for (const item of itemsOf(box)) {
      delete item.dataset.mark;
      inputOf(item).removeAttribute("aria-describedby");
      item.querySelector(".quiz-told")?.remove();
    }
  }

  /* Say right or wrong under an option, with the page's own reason for it. */
  function tell(box, item, index, withReason) {
    const word = make("strong", { textContent: isRight(item) ? "✓ Right." : "✗ Wrong." });
    const told = make("div", { className: "quiz-told", id: `quiz-${box.dataset.quiz}-told-${index}` }, word);
    if (withReason) {
      const reason = box.querySelectorAll(".quiz-reasons > li")[index].querySelector(".quiz-reason").cloneNode(true);
      reason.querySelectorAll("[id]").forEach((element) => element.removeAttribute("id"));
      told.append(reason);
    }
    item.dataset.mark = isRight(item) ? "right" : "wrong";
    item.append(told);
    inputOf(item).setAttribute("aria-describedby", told.id);
  }

  function score() {
    const boxes = questions();
    if (!boxes.length) return;
    let line = document.querySelector(".quiz-score");
    if (!line) {
      const again = make("button", { type: "button", className: "md-button quiz-reset", textContent: "Clear my answers" });
      const said = make("span", { className: "quiz-status" });
      said.setAttribute("role", "status");
      again.addEventListener("click", () => {
        const all = progress.all();
        for (const box of questions()) {
          delete all[box.dataset.quiz];
          shown.delete(box); // what was picked and not checked goes too
        }
        progress.write(all);
        questions().forEach((box) => restore(box));
        score();
        said.textContent = "Cleared.";
      });
      line = make("p", { className: "quiz-score" }, make("span", { className: "quiz-total" }), " ", again, " ", said);
      // Where the build left one.
      const room = document.querySelector(".quiz-end");
      if (room) room.append(line);
      else boxes.at(-1).after(line);
    }
    /* By the question as it is now: an answer may be older. */
    const holds = (box) => {
      const picked = progress.entry(box.dataset.quiz)?.picked;
      return picked && itemsOf(box).every((item) => picked.includes(inputOf(item).value) === isRight(item));
    };
    const right = boxes.filter(holds).length;
    line.querySelector(".quiz-total").textContent = `This page: ${right} of ${boxes.length} questions right.`;
    line.querySelector(".quiz-status").textContent = "";
  }

  function check(box) {
    forget(box);
    const items = itemsOf(box);
    const picked = items.filter((item) => inputOf(item).checked);
    const status = box.querySelector(".quiz-status");
    if (!picked.length) {
      status.textContent = CHOOSE;
      return;
    }
    const right = items.every((item) => inputOf(item).checked === isRight(item));
    items.forEach((item, index) => {
      if (right || inputOf(item).checked) tell(box, item, index, true);
    });
    status.textContent = right ? RIGHT : picked.every(isRight) ? MORE : WRONG;
    const entry = { picked: picked.map((item) => inputOf(item).value), right };
    const all = progress.all();
    all[box.dataset.quiz] = entry;
    progress.write(all);
    shown.set(box, JSON.stringify(entry));
    score();
    box.dispatchEvent(new CustomEvent("guide:answer", { bubbles: true }));
  }

  /* Show what is stored, without a word to screen readers. A question whose entry is as before is left alone. */
  function restore(box, entry = progress.entry(box.dataset.quiz)) {
    const text = JSON.stringify(entry);
    if (shown.get(box) === text) return;
    shown.set(box, text);
    forget(box);
    const items = itemsOf(box);
    items.forEach((item, index) => {
      const input = inputOf(item);
      input.checked = entry !== null && entry.picked.includes(input.value);
      if (input.checked) tell(box, item, index, false);
    });
    const missed = items.some((item) => isRight(item) && !inputOf(item).checked);
    if (missed && !box.querySelector("[data-mark=wrong]")) [...box.querySelectorAll(".quiz-told")].at(-1)?.append(" ", MORE);
  }

  function enhance(box) {
    if (box.dataset.ready) return;
    box.dataset.ready = "1";
    const button = make("button", { type: "button", className: "md-button quiz-check", textContent: "Check" });
    const status = make("span", { className: "quiz-status" });
    status.setAttribute("role", "status");
    box.querySelector(".quiz-options").after(make("p", { className: "quiz-actions" }, button, " ", status));
    button.addEventListener("click", () => check(box));
    box.addEventListener("change", () => forget(box));
    if (progress.entry(box.dataset.quiz)) restore(box);
    else shown.set(box, "null");
  }

  // For the self-check page.
  window.guideQuiz = { enhance, restore };
  /* A few milliseconds at a time: a reader may want to scroll. */
  function start() {
    const end = performance.now() + 6;
    for (const box of questions()) {
      if (performance.now() > end) {
        (window.requestIdleCallback ?? setTimeout)(start, { timeout: 200 });
        return;
      }
      enhance(box);
    }
    score();
  }

  function refresh() {
    questions().filter((box) => box.dataset.ready).forEach((box) => restore(box));
    score();
  }
  // Another tab.
  addEventListener("storage", (event) => progress.concerns(event) && refresh());
  // Back, from the browser's cache of pages.
  addEventListener("pageshow", (event) => event.persisted && refresh());
  // Both: with instant navigation Material tells of each page, but not on file:// and not in another builder.
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
  window.document$?.subscribe(start);
})();
