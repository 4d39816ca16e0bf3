/* The whole package, as a page gets it that asks for `@tensorflow/tfjs`:
 *
 *   const predict = await load("web/model.json");
 *   const probabilities = predict(pixels, [1, 8, 8, 1]);
 */
import * as tf from "@tensorflow/tfjs";

globalThis.tf = tf; // all of it is reachable, so a bundler leaves nothing out

export async function load(source) {
  await tf.setBackend("cpu"); // without this line, WebGL where the browser has it
  const model = await tf.loadGraphModel(source);
  const ask = (values, shape) => model.predict(tf.tensor(values, shape)).dataSync();
  return (values, shape) => tf.tidy(() => ask(values, shape));
}
