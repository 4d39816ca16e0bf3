/* Load a layers model from a folder: `node load_layers.mjs FOLDER`.
 * It says "loaded", or what went wrong. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import "@tensorflow/tfjs-backend-cpu";
import { loadLayersModel } from "@tensorflow/tfjs-layers";

const text = readFileSync(join(process.argv[2], "model.json"), "utf8");
const { modelTopology } = JSON.parse(text);
try {
  await loadLayersModel({ load: () => ({ modelTopology }) });
  console.log("loaded");
} catch (error) {
  console.log(`${error.name}: ${error.message}`);
}
