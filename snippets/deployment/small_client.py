# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#     "tensorflow==2.21.*",
#     "tensorflow-serving-api==2.21.*",
#     "grpcio",
#     "grpcio-tools",
# ]
#
# [tool.guide]
# devices = 0
# processes = 3
# seconds = 120
# files = ["model_server.py", "stand_in.py"]
# ///
"""Ask a server from processes that hold no TensorFlow: over REST, and over gRPC with stubs made for that."""

import pathlib
import subprocess
import sys
import tempfile

import grpc_tools
import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2
from tensorflow_serving.apis import prediction_service_pb2

from model_server import ModelServer


class Reader(tf.Module):
    """Multiply images of 8 by 8 by the weights of ten digits."""

    def __init__(self, weights):
        super().__init__()
        self.weights = tf.Variable(weights)

    @tf.function(input_signature=[tf.TensorSpec((None, 8, 8), name="image")])
    def __call__(self, image):
        return {"score": tf.tensordot(image, self.weights, 2)}


class Rounder(Reader):
    """Answer in whole numbers, under the same name."""

    @tf.function(input_signature=[tf.TensorSpec((None, 8, 8), name="image")])
    def __call__(self, image):
        score = tf.tensordot(image, self.weights, 2)
        return {"score": tf.cast(tf.round(score), tf.int32)}


draw = np.random.default_rng(0)
weights = draw.normal(size=(8, 8, 10)).astype("float32")
images = draw.random((5, 8, 8), "float32")
temporary = tempfile.TemporaryDirectory()
work = pathlib.Path(temporary.name)
np.save(work / "images.npy", images)
model = Reader(weights)
tf.saved_model.save(model, work / "digits" / "1", signatures=model.__call__)
rounder = Rounder(weights)
tf.saved_model.save(rounder, work / "rounded" / "1", signatures=rounder.__call__)

# --8<-- [start:rest]
OVER_REST = """
import http.client, json, sys
import numpy as np

connection = http.client.HTTPConnection(sys.argv[1], timeout=30)
body = json.dumps({"instances": np.load("images.npy").tolist()})
connection.request("POST", "/v1/models/digits:predict", body)
np.save("rest.npy", json.load(connection.getresponse())["predictions"])
print("tensorflow" in sys.modules)
"""
# --8<-- [end:rest]

WITH_PACKAGE = """
import sys
from tensorflow_serving.apis import predict_pb2

print("tensorflow.python" in sys.modules)
"""


# --8<-- [start:stubs]
def collect(file, into):
    """Note a file of definitions after all those that it imports."""
    for other in file.dependencies:
        collect(other, into)
    into[file.name] = file


known = {}
collect(prediction_service_pb2.DESCRIPTOR, known)
definitions = descriptor_pb2.FileDescriptorSet()
for file in known.values():
    file.CopyToProto(definitions.file.add())
(work / "serving.binpb").write_bytes(definitions.SerializeToString())

own = [name for name in known if not name.startswith("google/")]
service = "tensorflow_serving/apis/prediction_service.proto"
compiler = [sys.executable, "-m", f"{grpc_tools.__name__}.protoc"]
compiler += ["--descriptor_set_in=serving.binpb"]
for task in (["--python_out=.", *own], ["--grpc_python_out=.", service]):
    subprocess.run([*compiler, *task], cwd=work, check=True)
for package in ("tensorflow", "tensorflow_serving"):  # found before installed ones
    (work / package / "__init__.py").touch()
stubs = [path for path in work.rglob("*.py") if path.stat().st_size]
print(len(own), "definitions became", len(stubs), "modules")
# --8<-- [end:stubs]

# --8<-- [start:grpc]
OVER_GRPC = """
import sys
import grpc
import numpy as np
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

images = np.load("images.npy")
request = predict_pb2.PredictRequest()
request.model_spec.name = "digits"
tensor = request.inputs["image"]
tensor.dtype = types_pb2.DT_FLOAT
for size in images.shape:
    tensor.tensor_shape.dim.add(size=size)
tensor.tensor_content = images.astype("<f4").tobytes()

with grpc.insecure_channel(sys.argv[1]) as channel:
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    answer = stub.Predict(request, timeout=30).outputs["score"]
assert answer.dtype == types_pb2.DT_FLOAT, answer.dtype
shape = [one.size for one in answer.tensor_shape.dim]
if answer.tensor_content:
    numbers = np.frombuffer(answer.tensor_content, "<f4")
else:  # a server may also list the numbers
    numbers = answer.float_val
np.save("grpc.npy", np.reshape(numbers, shape))
print("tensorflow.python" in sys.modules)
"""
# --8<-- [end:grpc]


# --8<-- [start:run]
def holds_tensorflow(program, *arguments):
    """Run it in a process of its own, in the folder of images and stubs; return what it prints."""
    command = [sys.executable, "-c", program, *arguments]
    ended = subprocess.run(
        command, cwd=work, stdout=subprocess.PIPE, text=True, check=True
    )
    return ended.stdout.strip() == "True"


expected = np.tensordot(images, weights, 2)  # no TensorFlow in it
with ModelServer("--model_name=digits", f"--model_base_path={work / 'digits'}") as one:
    holds = {
        "REST": holds_tensorflow(OVER_REST, one.rest),
        "gRPC": holds_tensorflow(OVER_GRPC, one.grpc),
    }
right = {
    way: np.allclose(np.load(work / f"{way.lower()}.npy"), expected, atol=1e-4)
    for way in holds
}
for way, loaded in holds.items():
    print(f"{way}: the right scores: {right[way]}, TensorFlow loaded: {loaded}")
for package in ("tensorflow", "tensorflow_serving"):  # now the installed ones are found
    (work / package).rename(work / f"my_{package}")
installed = holds_tensorflow(WITH_PACKAGE)
print("the stubs of tensorflow-serving-api load TensorFlow:", installed)
# --8<-- [end:run]
for package in ("tensorflow", "tensorflow_serving"):
    (work / f"my_{package}").rename(work / package)
with ModelServer("--model_name=digits", f"--model_base_path={work / 'rounded'}") as two:
    refused = subprocess.run(
        [sys.executable, "-c", OVER_GRPC, two.grpc],
        check=False,
        cwd=work,
        capture_output=True,
        text=True,
    )
kilobytes = sum(path.stat().st_size for path in work.rglob("*.py")) / 1000
temporary.cleanup()

claims = {
    "rest_needs_no_tensorflow": right["REST"] and not holds["REST"],
    "grpc_needs_no_tensorflow": right["gRPC"] and not holds["gRPC"],
    "the_package_loads_tensorflow": installed,
    "another_type_is_refused": refused.returncode != 0
    and refused.stderr.strip().endswith(f"AssertionError: {tf.int32.as_datatype_enum}"),
    "every_definition_became_a_module": len(stubs) == len(own) + 1,
}
measures = {"server": one.name, "stubs": len(stubs), "stubs_kb": round(kilobytes)}
