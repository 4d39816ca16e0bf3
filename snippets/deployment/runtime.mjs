/* A TensorFlow.js runtime for one kind of model: graph models of convolutions, pooling
 * and dense layers, on the CPU.
 *
 * The package's own entry registers every kernel there is. This one registers those that
 * the model calls, and a bundler leaves the rest out. A kernel that is missing has a
 * clear error, "Kernel 'X' not registered for backend 'cpu'": import it here.
 */
import { loadGraphModel } from "@tensorflow/tfjs-converter";
import "@tensorflow/tfjs-backend-cpu/dist/base.js";
import { _fusedMatMulConfig } from "@tensorflow/tfjs-backend-cpu/dist/kernels/_FusedMatMul.js";
import { fusedConv2DConfig } from "@tensorflow/tfjs-backend-cpu/dist/kernels/FusedConv2D.js";
import { identityConfig } from "@tensorflow/tfjs-backend-cpu/dist/kernels/Identity.js";
import { maxPoolConfig } from "@tensorflow/tfjs-backend-cpu/dist/kernels/MaxPool.js";
import { packConfig } from "@tensorflow/tfjs-backend-cpu/dist/kernels/Pack.js";
import { reshapeConfig } from "@tensorflow/tfjs-backend-cpu/dist/kernels/Reshape.js";
import { softmaxConfig } from "@tensorflow/tfjs-backend-cpu/dist/kernels/Softmax.js";
import { stridedSliceConfig } from "@tensorflow/tfjs-backend-cpu/dist/kernels/StridedSlice.js";
import { ready, registerKernel, setBackend, tensor } from "@tensorflow/tfjs-core/dist/base.js";

for (const kernel of [
  _fusedMatMulConfig,
  fusedConv2DConfig,
  identityConfig,
  maxPoolConfig,
  packConfig,
  reshapeConfig,
  softmaxConfig,
  stridedSliceConfig,
])
  registerKernel(kernel);

/* Returns a function from a batch (numbers in a row, and their shape) to the model's
 * output as a Float32Array. `source` is the address of a model.json. */
export async function load(source) {
  await setBackend("cpu");
  await ready();
  const model = await loadGraphModel(source);
  return (values, shape) => {
    const input = tensor(values, shape);
    const output = model.predict(input);
    const answer = output.dataSync();
    input.dispose();
    output.dispose();
    return answer;
  };
}
