/* What training keeps on a device: weights, gradients and optimizer slots. tests/site/test_widgets.py compares the
 * formulas with those of snippets/parallelism/memory.py. */
import { bytes, count } from "./units.js";

export const SLOTS = { sgd: 0, momentum: 1, adam: 2 };
export const WEIGHT_BYTES = { float32: 4, mixed_float16: 4, bfloat16: 2 };

export const stateBytes = (parameters, optimizer, policy) => parameters * (2 + SLOTS[optimizer]) * WEIGHT_BYTES[policy];
export const cutBytes = (parameters, optimizer, policy, parts) => stateBytes(parameters, optimizer, policy) / parts;

const ROW = 46;

function show({ parameters, optimizer, policy, parts, memory }, width) {
  const whole = stateBytes(parameters, optimizer, policy);
  const cut = cutBytes(parameters, optimizer, policy, parts);
  const scale = (width - 120) / Math.max(whole, 1.1 * memory);
  const value = parameters * WEIGHT_BYTES[policy];
  const shapes = [["text", { x: 0, y: 12, class: "fig-muted" }, "Per device: weights, gradients, slots"]];
  [["Data parallel", 1, whole], [`Cut into ${parts} parts`, parts, cut]].forEach(([label, by, held], i) => {
    const y = 22 + i * ROW;
    shapes.push(["text", { x: 0, y: y + 13 }, label]);
    [1, 1, SLOTS[optimizer]].forEach((times, n) => {
      const before = (Math.min(n, 2) * value * scale) / by;
      if (times) shapes.push(["rect", { x: before, y: y + 19, width: Math.max(0.5, (times * value * scale) / by), height: 18, class: `fig-t${n + 1} fig-s${n + 1}` }]);
    });
    shapes.push(["text", { x: Math.max(held * scale, 1) + 8, y: y + 33 }, bytes(held)]);
  });
  const edge = memory * scale, bottom = 22 + 2 * ROW;
  shapes.push(["line", { x1: edge, x2: edge, y1: 20, y2: bottom + 4, class: "fig-axis", "stroke-dasharray": "4 3" }]);
  shapes.push(["text", { x: edge, y: bottom + 18, "text-anchor": edge > width / 2 ? "end" : "start", class: "fig-muted" }, `one device has ${bytes(memory)}`]);
  const fits = (held) => (held <= memory ? "fits" : "does not fit");
  // Replicas join all gradients into one tensor: a second copy, for the moment of the all-reduce.
  const text = `Data parallel, each device holds ${bytes(whole)}, and ${bytes(value)} more for the all-reduce: it ${fits(whole + value)} into ${bytes(memory)}. ` +
    `Cut into ${parts}, each holds ${bytes(cut)}: it ${fits(cut)}. Fewest parts that fit: ${Math.ceil(whole / memory)}. Activations come on top.`;
  return { text, height: bottom + 26, shapes };
}

export const widget = {
  title: "Move the size of the model and the number of parts",
  controls: [
    {
      name: "parameters", label: "Parameters", start: 7e9, format: count,
      values: [25e6, 110e6, 340e6, 1e9, 1.5e9, 3e9, 7e9, 13e9, 70e9, 175e9, 405e9, 540e9],
    },
    { name: "parts", label: "Parts", values: [1, 2, 4, 8, 16, 32, 64, 128], start: 4 },
    { name: "memory", label: "Memory of a device", values: [8e9, 16e9, 24e9, 32e9, 40e9, 80e9, 141e9], start: 80e9, format: bytes },
    { name: "optimizer", label: "Optimizer", values: ["sgd", "momentum", "adam"], start: "adam", choice: true },
    { name: "policy", label: "Keras dtype policy", values: ["float32", "mixed_float16", "bfloat16"], start: "float32", choice: true },
  ],
  show,
};
