/* A digit, chosen or drawn, read by a small network in the reader's browser. The runtime, the model and the examples lie in
 * assets/demo and are fetched when the reader asks for them, once. tests/site/test_demo.py compares with Keras. */

const DEMO = new URL("../demo/", import.meta.url);
const SIDE = 8, FINE = 4, LEVELS = 16; // an image, and what a pixel counts: the ink of 4 x 4 fine pixels, as in the data set
const PEN = 6, ROOM = 25; // on the fine pixels: as thick as the strokes of the data set, and as wide as its widest digits

/* Strokes, lists of [x, y], as an image: moved to the centre and scaled to the height, then counted in blocks. */
export function ink(strokes) {
  const values = new Float32Array(SIDE * SIDE), points = strokes.flat();
  if (!points.length) return values;
  const [left, top] = [0, 1].map((axis) => Math.min(...points.map((point) => point[axis])));
  const [right, bottom] = [0, 1].map((axis) => Math.max(...points.map((point) => point[axis])));
  const all = SIDE * FINE, radius = PEN / 2;
  const tall = (all - PEN) / Math.max(bottom - top, 1), wide = Math.min(tall, (ROOM - PEN) / Math.max(right - left, 1));
  const place = ([x, y]) => [all / 2 + (x - (left + right) / 2) * wide, all / 2 + (y - (top + bottom) / 2) * tall];
  const lines = strokes.flatMap((stroke) => {
    const placed = stroke.map(place);
    return placed.map((point, at) => [placed[Math.max(at - 1, 0)], point]);
  });
  for (let at = 0; at < all * all; at++) {
    const x = (at % all) + 0.5, y = Math.floor(at / all) + 0.5;
    if (lines.some(([from, to]) => near(x, y, from, to) <= radius))
      values[Math.floor(y / FINE) * SIDE + Math.floor(x / FINE)] += 1 / LEVELS;
  }
  return values;
}

/* The distance of a point from a line between two points. */
function near(x, y, [x0, y0], [x1, y1]) {
  const dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy;
  const along = length && Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / length, 0), 1);
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}

/* An example as it is kept: a sign (0 to 9, a to g) for each pixel. */
export const decode = (signs) => Float32Array.from(signs, (sign) => Number.parseInt(sign, 17) / LEVELS);

async function fetched(name) {
  const answer = await fetch(new URL(name, DEMO));
  if (!answer.ok) throw new Error(`${name}: status ${answer.status}`);
  return answer.json();
}

/* What the demo needs, fetched once for all visits of its page. A failure is forgotten, so that a second try is one: for
   the browser too, as it is another address. Many keep a failed import until the page is left (whatwg/html#6768). */
let needed = null, tries = 0;

export function load() {
  needed ??= Promise.all([import(new URL(`runtime.js${tries ? `#${tries}` : ""}`, DEMO)), fetched("examples.json")])
    .then(async ([runtime, examples]) => [await runtime.load(new URL("model.json", DEMO).href), examples])
    .catch((error) => {
      needed = null;
      tries += 1;
      throw error;
    });
  return needed;
}

function styled() {
  const link = document.createElement("link");
  Object.assign(link, { rel: "stylesheet", href: new URL("digits.css", DEMO).href });
  return new Promise((resolve) => {
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const said = (value) => (value ? `ink ${Math.round(value * LEVELS)} of ${LEVELS}` : "empty");

/* The grid: what the network is given. Arrow keys move, space and a click change a pixel. */
function gridOf(make, image, changed) {
  const cells = Array.from({ length: SIDE * SIDE }, (_, at) => {
    const dot = make("rect", { width: 1, height: 1, class: "digit-ink" });
    const cell = make("button", { type: "button", role: "gridcell", class: "digit-cell", tabindex: at ? -1 : 0 });
    const box = make("svg", { viewBox: "0 0 1 1", "aria-hidden": "true" });
    box.append(dot);
    cell.append(box);
    cell.addEventListener("click", () => {
      image[at] = image[at] === 0 ? 1 : image[at] === 1 ? 0.5 : 0;
      focus(at);
      changed();
    });
    return { cell, dot };
  });
  let here = 0;

  function focus(at) {
    cells[here].cell.tabIndex = -1;
    here = at;
    cells[here].cell.tabIndex = 0;
    cells[here].cell.focus();
  }

  const rows = Array.from({ length: SIDE }, (_, row) =>
    make("div", { role: "row", class: "digit-row" }, ...cells.slice(row * SIDE, (row + 1) * SIDE).map(({ cell }) => cell)));
  const grid = make("div", { role: "grid", class: "digit-grid", "aria-label": "Image of 8 by 8 pixels" }, ...rows);
  grid.addEventListener("keydown", (event) => {
    const column = here % SIDE, row = Math.floor(here / SIDE), last = SIDE - 1;
    const to = {
      ArrowLeft: [row, Math.max(column - 1, 0)],
      ArrowRight: [row, Math.min(column + 1, last)],
      ArrowUp: [Math.max(row - 1, 0), column],
      ArrowDown: [Math.min(row + 1, last), column],
      Home: [row, 0],
      End: [row, last],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    focus(to[0] * SIDE + to[1]);
  });

  function show() {
    cells.forEach(({ cell, dot }, at) => {
      dot.setAttribute("fill-opacity", image[at]);
      cell.setAttribute("aria-label", `row ${Math.floor(at / SIDE) + 1}, column ${(at % SIDE) + 1}: ${said(image[at])}`);
    });
  }
  return [grid, show];
}

/* The pad: strokes of a mouse, a pen or a finger. */
function padOf(make, strokes, drawn) {
  const pad = make("svg", { class: "digit-pad", viewBox: "0 0 100 100", role: "img" });
  pad.setAttribute("aria-label", "Pad to draw on with a pointer; by keyboard, use the grid of pixels");
  let drawing = false, waiting = 0;
  const at = (event) => {
    const { left, top, width, height } = pad.getBoundingClientRect();
    return [(100 * (event.clientX - left)) / width, (100 * (event.clientY - top)) / height];
  };
  const show = () =>
    pad.replaceChildren(...strokes.map((stroke) =>
      make("path", { class: "digit-stroke", d: `M${[stroke[0], ...stroke].map((point) => point.join(" ")).join("L")}` })));
  pad.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    drawing = true;
    pad.setPointerCapture(event.pointerId);
    strokes.push([at(event)]);
    show();
  });
  pad.addEventListener("pointermove", (event) => {
    if (!drawing) return;
    strokes.at(-1).push(at(event));
    show();
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      drawn(false);
    });
  });
  for (const end of ["pointerup", "pointercancel"])
    pad.addEventListener(end, () => {
      if (drawing) drawn(true);
      drawing = false;
    });
  return [pad, show];
}

/* The ten probabilities: real text, and a bar beside each. */
function answersOf(make) {
  const rows = Array.from({ length: 10 }, (_, digit) => {
    const bar = make("rect", { height: 1, width: 0, class: "digit-bar" });
    const box = make("svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" });
    box.append(bar);
    const value = make("td", { class: "digit-value" });
    const row = make("tr", {}, make("th", { scope: "row" }, String(digit)), value, make("td", { "aria-hidden": "true" }, box));
    return { row, bar, value };
  });
  const table = make("table", { class: "digit-answers" }, make("caption", {}, "Probability of each digit"),
    make("tbody", {}, ...rows.map(({ row }) => row)));
  return [table, (shares, best) => rows.forEach(({ row, bar, value }, digit) => {
    bar.setAttribute("width", shares[digit] ?? 0);
    value.textContent = shares.length ? percent(shares[digit]) : "";
    row.classList.toggle("digit-best", digit === best);
  })];
}

/* Everything that the reader works with, once the model is there. */
function desk(make, predict, { digits, images }, status) {
  const image = new Float32Array(SIDE * SIDE), strokes = [], shown = {};
  const [grid, showGrid] = gridOf(make, image, () => answer("Your pixels"));
  const [pad, showPad] = padOf(make, strokes, (finished) => {
    image.set(ink(strokes));
    answer("Your drawing", finished);
  });
  const [table, showAnswers] = answersOf(make);

  function answer(what, tell = true) {
    showGrid();
    showPad();
    const empty = image.every((value) => value === 0);
    const shares = empty ? [] : [...predict(image, [1, SIDE, SIDE, 1])];
    const best = shares.indexOf(Math.max(...shares));
    showAnswers(shares, best);
    if (tell) status.textContent = empty ? "Choose an example, or draw a digit." : `${what}: the model reads ${best}, ${percent(shares[best])}.`;
  }

  function example(digit) {
    const all = [...digits].flatMap((each, at) => (each === digit ? [at] : []));
    const nth = (shown[digit] = ((shown[digit] ?? -1) + 1) % all.length);
    strokes.length = 0;
    image.set(decode(images[all[nth]]));
    answer(`Held-out image ${nth + 1} of ${all.length} of a ${digit}`);
  }

  const button = (text, name, click) => {
    const made = make("button", { type: "button", class: "md-button digit-button", "aria-label": name }, text);
    made.addEventListener("click", click);
    return made;
  };
  const examples = [..."0123456789"].map((digit) => button(digit, `Next example of a ${digit}`, () => example(digit)));
  const clear = button("Clear", "Clear the image", () => {
    strokes.length = 0;
    image.fill(0);
    answer("");
  });
  answer("");
  return [
    make("div", { class: "digit-examples", role: "group", "aria-label": "Examples" },
      make("span", { class: "digit-label" }, "Examples"), ...examples, clear),
    make("div", { class: "digit-desk" },
      make("div", { class: "digit-part" }, make("p", { class: "digit-label" }, "Draw here"), pad),
      make("div", { class: "digit-part" }, make("p", { class: "digit-label" }, "What the model is given"), grid),
      table),
  ];
}

function mount(box, make) {
  const id = "widget-digits";
  const status = make("p", { class: "widget-text", role: "status" });
  const start = make("button", { type: "button", class: "md-button" }, "Load the model");
  const ask = make("p", {}, start);
  start.addEventListener("click", async () => {
    start.disabled = true;
    status.textContent = "Loading.";
    try {
      const [[predict, examples]] = await Promise.all([load(), styled()]);
      ask.remove();
      box.querySelector(".widget-fallback").hidden = true;
      status.before(...desk(make, predict, examples, status));
      box.querySelector(".digit-button").focus();
    } catch (error) {
      start.disabled = false;
      status.textContent = `The model did not load (${error.message}). Try again.`;
    }
  });
  box.prepend(make("p", { class: "widget-title", id }, "Read a digit in your browser"), ask, status);
  box.setAttribute("role", "group");
  box.setAttribute("aria-labelledby", id);
}

export const widget = { mount };
