/* Answer images with a graph model, in Node:
 *
 *   node predict.mjs FOLDER < images.json > answers.json
 *
 * The images come as {"shape": [n, 8, 8, 1], "values": [...]}, the answers leave as
 * {"shape", "values", "ms"}: the last is the time of one image, in the fastest of fifty calls.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import "@tensorflow/tfjs-backend-cpu";
import { loadGraphModel } from "@tensorflow/tfjs-converter";
import * as tf from "@tensorflow/tfjs-core";

const folder = process.argv[2];

/* In a browser the address of model.json is enough. In Node this object reads the files. */
const files = {
  load() {
    const text = readFileSync(join(folder, "model.json"), "utf8");
    const { weightsManifest: groups, ...model } = JSON.parse(text);
    const paths = groups.flatMap((group) => group.paths);
    const parts = paths.map((path) => readFileSync(join(folder, path)));
    return {
      ...model,
      weightSpecs: groups.flatMap((group) => group.weights),
      weightData: new Uint8Array(Buffer.concat(parts)).buffer,
    };
  },
};

const model = await loadGraphModel(files);
const { shape, values } = JSON.parse(readFileSync(0, "utf8"));
const input = tf.tensor(values, shape);
const output = await model.executeAsync(input);

const one = tf.slice(input, 0, 1);
const times = [];
for (let call = 0; call < 50; call++) {
  const start = performance.now();
  const answer = await model.executeAsync(one);
  await answer.data();
  times.push(performance.now() - start);
  answer.dispose();
}
const ms = Math.min(...times);
const answer = { shape: output.shape, values: [...(await output.data())], ms };
process.stdout.write(JSON.stringify(answer));
