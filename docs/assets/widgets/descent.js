/* Gradient descent on a loss with two weights, the mean squared error of two correlated features of deviation 1:
 * loss(w) = 1 - 2 s.w + w.R.w, where R holds the correlation and s the slopes of the data.
 * tests/site/test_widgets.py compares the walks with those of Keras in snippets/heads/descent.py. */

export const SLOPES = [0.212, 0.1741]; // of snippets/heads/descent.py
export const START = [-1.5, 0.5];

export const loss = ([a, b], r) => 1 - 2 * (SLOPES[0] * a + SLOPES[1] * b) + a * a + 2 * r * a * b + b * b;
export const gradient = ([a, b], r) => [2 * (a + r * b - SLOPES[0]), 2 * (r * a + b - SLOPES[1])];
export const lowest = (r) => [(SLOPES[0] - r * SLOPES[1]) / (1 - r * r), (SLOPES[1] - r * SLOPES[0]) / (1 - r * r)];
export const limit = (r) => 1 / (1 + Math.abs(r)); // of the learning rate, for SGD: 2 / steepest curvature

/* Update rules: (gradient, state, rate, step) => what is added to the weight. */
const RULES = {
  SGD: (g, state, rate) => -rate * g,
  momentum: (g, state, rate) => (state.v = 0.8 * (state.v ?? 0) - rate * g),
  Adam: (g, state, rate, t) => {
    state.m = 0.9 * (state.m ?? 0) + 0.1 * g;
    state.q = 0.999 * (state.q ?? 0) + 0.001 * g * g;
    return (-rate * (state.m / (1 - 0.9 ** t))) / (Math.sqrt(state.q / (1 - 0.999 ** t)) + 1e-7);
  },
};

/* The weights after each step, the start included. */
export function walk(rule, rate, r, steps) {
  const states = [{}, {}];
  const path = [START];
  for (let t = 1; t <= steps; t++) {
    const w = path[t - 1];
    const g = gradient(w, r);
    path.push(w.map((value, i) => value + RULES[rule](g[i], states[i], rate, t)));
  }
  return path;
}

const LEVELS = [16, 9, 5, 2.5, 1.2, 0.5, 0.15, 0.03];
const AXES = ["Left to right: weight of total cholesterol.", "Upwards: weight of LDL.", "The cross is the lowest loss."];
const place = ([a, b], [width, height]) => [width * (0.5 + a / 6.4), height / 2 - (width * b) / 6.4];
const inside = (point, size) => point.every((n, k) => n >= 4 && n <= size[k] - 4);
const line = (points) => "M" + points.map((point) => point.map((n) => n.toFixed(1)).join(" ")).join("L");

/* What of a convex shape lies inside the drawing: cut by one edge after the other. */
function clip(points, [width, height]) {
  for (const [axis, edge, keep] of [[0, 0, 1], [0, width, -1], [1, 0, 1], [1, height, -1]]) {
    const kept = [];
    points.forEach((to, i) => {
      const from = points[(i || points.length) - 1];
      const before = keep * (from[axis] - edge), after = keep * (to[axis] - edge);
      if (before * after < 0) kept.push(from.map((n, k) => n + ((to[k] - n) * before) / (before - after)));
      if (after >= 0) kept.push(to);
    });
    points = kept;
  }
  return points;
}

/* Where a line that begins inside ends or leaves the drawing. */
function last(from, to, size) {
  const parts = from.map((n, k) => ((to[k] > n ? size[k] : 0) - n) / (to[k] - n || 1));
  const part = Math.min(1, ...parts.filter((one) => one > 0));
  return from.map((n, k) => n + part * (to[k] - n));
}

/* Where the loss is `above` the lowest: an ellipse along the diagonals. */
function contour(above, r, size) {
  const centre = lowest(r);
  const along = Math.sqrt(above / (1 + r) / 2), across = Math.sqrt(above / (1 - r) / 2);
  return Array.from({ length: 90 }, (_, i) => {
    const u = along * Math.cos((i * Math.PI) / 45), v = across * Math.sin((i * Math.PI) / 45);
    return place([centre[0] + u + v, centre[1] + u - v], size);
  });
}

function show({ rule, rate, correlation, steps }, width) {
  const height = Math.round(0.67 * width), size = [width, height];
  const path = walk(rule, rate, correlation, steps);
  const shapes = [["rect", { x: 0, y: 0, width, height, class: "fig-h8" }]];
  LEVELS.forEach((above, n) => {
    const points = clip(contour(above, correlation, size), size);
    if (points.length) shapes.push(["path", { d: `${line(points)}Z`, class: `fig-h${7 - n}` }]);
  });
  const places = path.map((w) => place(w, size));
  const out = places.findIndex((point) => !inside(point, size));
  const drawn = out < 0 ? places : places.slice(0, out);
  const way = out < 0 ? drawn : [...drawn, last(drawn.at(-1), places[out], size)];
  for (const [kind, thick] of [["fig-lbg", 5], ["fig-ltext", 2]]) {
    shapes.push(["path", { d: line(way), class: kind, fill: "none", "stroke-width": thick, "stroke-linejoin": "round" }]);
  }
  for (const [x, y] of drawn) shapes.push(["rect", { x: x - 3, y: y - 3, width: 6, height: 6, class: "fig-b2 fig-lbg" }]);
  const [x, y] = place(lowest(correlation), size);
  for (const d of [`M${x - 8} ${y - 8}L${x + 8} ${y + 8}`, `M${x - 8} ${y + 8}L${x + 8} ${y - 8}`]) {
    shapes.push(["path", { d, class: "fig-s2", fill: "none", "stroke-width": 3 }]);
  }
  AXES.forEach((said, n) => shapes.push(["text", { x: 0, y: height + 18 * (n + 1), class: "fig-muted" }, said]));
  const least = loss(lowest(correlation), correlation);
  const end = loss(path[steps], correlation) - least, first = loss(START, correlation) - least;
  // One high step of a rule with momentum is no divergence: the next may lie low.
  const high = rule === "SGD" ? "The walk diverges" : "The walk is above its start";
  const fate = end > first ? high : end < 0.001 ? "The walk is at the bottom" : "The walk is on its way";
  const bound = rule === "SGD" ? ` SGD converges below a rate of ${limit(correlation).toFixed(2)}.` : "";
  const left = end > 1e4 ? end.toExponential(1) : end.toFixed(3);
  const text = `${fate}: after ${steps} step${steps === 1 ? "" : "s"} the loss is ${left} above the lowest; it began ${first.toFixed(2)} above it.${bound}`;
  return { text, height: height + 18 * AXES.length + 6, shapes };
}

export const widget = {
  title: "Move the learning rate, the rule and the shape of the valley",
  controls: [
    { name: "rate", label: "Learning rate", values: [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.52, 0.54, 0.56, 0.6, 0.8, 1], start: 0.4 },
    { name: "steps", label: "Steps", values: Array.from({ length: 80 }, (_, i) => i + 1), start: 40 },
    { name: "correlation", label: "Correlation", values: [-0.9, -0.5, 0, 0.5, 0.8, 0.8967, 0.95], start: 0.8967, format: (r) => r.toFixed(2) },
    { name: "rule", label: "Rule", values: Object.keys(RULES), start: "SGD", choice: true },
  ],
  show,
};
