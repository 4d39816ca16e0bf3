/* LiteRT.js: the interpreter of .tflite files, in WebAssembly beside this file. */
import {
  getGlobalLiteRtPromise,
  loadAndCompile,
  loadLiteRt,
  Tensor,
} from "@litertjs/core";

export async function load(source) {
  const folder = new URL("./litert/", import.meta.url).href;
  await (getGlobalLiteRtPromise() ?? loadLiteRt(folder)); // a second call throws
  const model = await loadAndCompile(source, { accelerator: "wasm" });
  return async (values, shape) => {
    const input = new Tensor(values, shape);
    const [output] = await model.run(input);
    const answer = output.toTypedArray().slice();
    input.delete();
    output.delete();
    return answer;
  };
}
