/* A pipeline of K partitions and M micro-batches: its schedule and its bubble. tests/site/test_widgets.py compares the
 * formulas with those of snippets/parallelism/schedule.py. */

export const bubble = (partitions, microBatches) => (partitions - 1) / (microBatches + partitions - 1);

export const ticks = (partitions, microBatches) => 2 * (microBatches + partitions - 1);

/* Every piece of work: the forward pass, and the backward pass as its mirror. Each takes one tick. */
export function schedule(partitions, microBatches) {
  const pieces = [];
  for (let k = 0; k < partitions; k++) {
    for (let m = 0; m < microBatches; m++) {
      pieces.push({ partition: k, start: k + m, kind: "F", microBatch: m });
      pieces.push({ partition: k, start: ticks(partitions, microBatches) - 1 - k - m, kind: "B", microBatch: m });
    }
  }
  return pieces;
}

const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);
const several = (n, what, more) => `${n} ${n === 1 ? what : more}`;
const LEFT = 80, ROW = 26, TOP = 22;

function show({ partitions, microBatches }, width) {
  const all = ticks(partitions, microBatches);
  const unit = (width - LEFT) / all;
  const height = TOP + partitions * ROW + 24;
  const shapes = [
    ["text", { x: 0, y: 14, class: "fig-muted" }, "F: forward, B: backward, empty: the bubble"],
    ["text", { x: width, y: height - 6, "text-anchor": "end", class: "fig-muted" }, `${all} ticks`],
  ];
  for (let k = 0; k < partitions; k++) {
    shapes.push(["text", { x: LEFT - 6, y: TOP + k * ROW + 17, "text-anchor": "end" }, `partition ${k}`]);
    shapes.push(["line", { x1: LEFT, x2: width, y1: TOP + (k + 1) * ROW - 1, y2: TOP + (k + 1) * ROW - 1, class: "fig-grid" }]);
  }
  for (const { partition, start, kind, microBatch } of schedule(partitions, microBatches)) {
    const x = LEFT + start * unit, y = TOP + partition * ROW + 2;
    const hue = kind === "F" ? 1 : 2;
    shapes.push(["rect", { x: x + 0.5, y, width: unit - 1, height: ROW - 5, class: `fig-t${hue} fig-s${hue}` }]);
    if (unit > 19) shapes.push(["text", { x: x + unit / 2, y: y + 15, "text-anchor": "middle" }, `${kind}${microBatch}`]);
  }
  const share = bubble(partitions, microBatches);
  const gain = partitions * (1 - share);
  const text = `${several(partitions, "partition", "partitions")}, ${several(microBatches, "micro-batch", "micro-batches")}: ${(100 * share).toFixed(0)} % of the devices' time is idle; ` +
    `a step is ${gain.toFixed(2)} times as fast as on one device with the same micro-batches.`;
  return { text, height, shapes };
}

export const widget = {
  title: "Move the partitions and the micro-batches",
  controls: [
    { name: "partitions", label: "Partitions K", values: upTo(8), start: 4 },
    { name: "microBatches", label: "Micro-batches M", values: upTo(32), start: 4 },
  ],
  show,
};
