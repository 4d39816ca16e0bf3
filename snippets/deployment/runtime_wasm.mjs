/* TensorFlow.js with its kernels in WebAssembly, which lie beside this file. */
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import { loadGraphModel } from "@tensorflow/tfjs-converter";
import { setBackend, tensor, tidy } from "@tensorflow/tfjs-core";

export async function load(source) {
  setWasmPaths(new URL("./wasm/", import.meta.url).href);
  await setBackend("wasm");
  const model = await loadGraphModel(source);
  return (values, shape) => tidy(() => model.predict(tensor(values, shape)).dataSync());
}
