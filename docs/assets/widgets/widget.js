/* Drawings that the reader can move: <div class="widget" data-widget="name">, whose content is shown without this file.
 *
 * `name.js` beside this file exports `widget`, plain data and one function, so that it also runs outside a browser:
 *   title     what the drawing shows
 *   controls  [{name, label, values, start, format}]: a slider over `values`, or with `choice: true` a list to choose from
 *   show      (values by name, width) => {text, height, shapes}; a shape is ["rect" | "path" | "line" | "text", attributes, text]
 * Shapes carry classes of figure.css. `text` is what a screen reader hears when the reader has moved a control.
 * A widget with other hands than sliders exports `mount(box, make)` in place of controls and `show`, and fills its box.
 */
/* A drawing is as wide as its box on a phone, so that its text keeps its size. */
const WIDEST = 640;
const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes = {}, ...children) {
  const element = tag === "svg" || tag in SHAPES ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const SHAPES = { rect: 1, path: 1, line: 1, text: 1, g: 1, title: 1 };

/* One control with its label. Returns the row and a function that reads the value. */
function control(id, { name, label, values, start, format = String, choice = false }, changed) {
  const caption = make("label", { for: `${id}-${name}` }, label);
  if (choice) {
    const list = make("select", { id: `${id}-${name}` });
    list.append(...values.map((value) => make("option", { value }, format(value))));
    list.value = start;
    list.addEventListener("change", changed);
    return [make("div", { class: "widget-control" }, caption, list), () => list.value];
  }
  const slider = make("input", { id: `${id}-${name}`, type: "range", min: 0, max: values.length - 1, step: 1 });
  slider.value = values.indexOf(start);
  const read = () => values[Number(slider.value)];
  const shown = make("output", { for: `${id}-${name}` });
  const tell = () => {
    shown.textContent = format(read());
    slider.setAttribute("aria-valuetext", format(read()));
  };
  tell();
  slider.addEventListener("input", () => {
    tell();
    changed();
  });
  return [make("div", { class: "widget-control" }, caption, slider, shown), read];
}

/* Put the sliders and the drawing of a widget into its box. */
function mountSliders(box, widget) {
  const id = `widget-${box.dataset.widget}`;
  const drawing = make("div", { class: "widget-drawing" }); // a11y.js makes it a stop where it scrolls
  const status = make("p", { class: "widget-text" });
  const room = () => Math.min(WIDEST, drawing.clientWidth);
  let wait = 0, width = 0;

  function draw() {
    width = room();
    const { text, height, shapes } = widget.show(Object.fromEntries(read.map(([name, value]) => [name, value()])), width);
    const svg = make("svg", { class: "fig", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": text });
    const labels = make("g", { class: "fig-text", fill: "currentColor" });
    for (const [tag, attributes, said = ""] of shapes) (tag === "text" ? labels : svg).append(make(tag, attributes, said));
    svg.append(labels);
    drawing.replaceChildren(svg);
    clearTimeout(wait); // a screen reader hears where the slider stopped, not every step on the way
    if (!status.textContent) status.textContent = text;
    else if (status.textContent !== text) wait = setTimeout(() => (status.textContent = text), 250);
  }

  const built = widget.controls.map((each) => [each.name, ...control(id, each, draw)]);
  const read = built.map(([name, , value]) => [name, value]);
  const controls = make("div", { class: "widget-controls" }, ...built.map(([, row]) => row));
  box.prepend(make("p", { class: "widget-title", id }, widget.title), controls, drawing, status);
  box.setAttribute("role", "group");
  box.setAttribute("aria-labelledby", id);
  draw();
  status.setAttribute("role", "status"); // now: nobody asked for the first text
  /* The phone was turned, or the text enlarged. */
  new ResizeObserver(() => {
    if (drawing.clientWidth && room() !== width) requestAnimationFrame(draw);
  }).observe(drawing);
  box.querySelector(".widget-fallback").hidden = true;
}

async function mount(box) {
  if (box.dataset.state) return;
  box.dataset.state = "loading";
  const { widget } = await import(`./${box.dataset.widget}.js`);
  if (widget.mount) widget.mount(box, make);
  else mountSliders(box, widget);
  box.dataset.state = "ready";
}

function mountAll() {
  for (const box of document.querySelectorAll(".widget[data-widget]")) mount(box);
}

/* With instant navigation a page arrives without a load; without it, or from a file, `document$` may never speak. */
globalThis.document$?.subscribe(mountAll);
mountAll();
