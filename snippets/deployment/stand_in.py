# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "tensorflow-serving-api==2.21.*", "grpcio"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""Stand in for TensorFlow Serving where it cannot be had: a small server behind its gRPC services and REST paths.

With arguments it serves, with seven flags of `tensorflow_model_server`; without, it checks
itself against the signature that it serves. It is no TensorFlow Serving: one request is
one call of the signature, in Python. It knows no batching, no labels, no Classify or
Regress, no base64 or text answers over REST, no limits and no metrics, and it does not
wait for a first version. Errors that TensorFlow Serving would raise have the words of its
release 2.20.0; those that only this server raises begin with "stand-in:".
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import json_format, text_format
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_log_pb2,
    prediction_service_pb2_grpc,
)
from tensorflow_serving.config import model_server_config_pb2

WARMUP, MOST_WARMUP = "assets.extra/tf_serving_warmup_requests", 1000
MOST_SHOWN = 256  # characters of a value in a message
JSON_TYPE = {str: "String", dict: "Object", type(None): "Null"}
MODEL = r"/v1/models/([^/:]+)(?:/versions/(\d+))?"
PATHS = {
    "GET": re.compile(MODEL + r"(?:/(metadata))?"),
    "POST": re.compile(MODEL + r":(predict)"),
}
State = get_model_status_pb2.ModelVersionStatus


class RefusedError(Exception):
    """What a client asked for cannot be done: a text, and the name of a status of gRPC."""

    def __str__(self):
        return self.args[0]


def refuse(text, code="INVALID_ARGUMENT"):
    raise RefusedError(text, code)


class Version:
    """One SavedModel, run only on inputs that fit the signature it declares."""

    def __init__(self, folder):
        self.model = tf.saved_model.load(str(folder))
        file = saved_model_pb2.SavedModel()
        file.ParseFromString((folder / "saved_model.pb").read_bytes())
        self.declared = file.meta_graphs[0].signature_def
        self.warmed = self.warm_up(folder / WARMUP)

    def signature(self, name):
        if name not in self.model.signatures:
            refuse(f'Serving signature key "{name}" not found.', "FAILED_PRECONDITION")
        return self.declared[name]

    def run(self, name, arrays):
        known = self.signature(name).inputs
        if len(arrays) != len(known):
            sent, need = set(arrays), set(known)
            lists = [sent, need, sent - need, need - sent]
            a, b, extra, missing = ("{" + ",".join(sorted(x)) + "}" for x in lists)
            text = f"input size does not match signature: {len(sent)}!={len(need)} "
            text += f"len({a}) != len({b}). Sent extra: {extra}. Missing but required: "
            refuse(f"{text}{missing}.")
        for key in sorted(set(known) - set(arrays)):
            text = f"Signature input alias: {key}(feed name: {known[key].name}) not "
            text += "found in request and no default value provided. Inputs expected "
            text += f"to be in the request {{{','.join(sorted(arrays))}}}, or default "
            refuse(text + "input alias set: ")
        for key, array in arrays.items():
            kind, shape = tf.as_dtype(known[key].dtype), known[key].tensor_shape
            if tf.as_dtype(array.dtype) != kind:
                text = f"stand-in: {key} is {array.dtype}, "
                refuse(f"{text}the signature says {kind.name}")
            if not tf.TensorShape(shape).is_compatible_with(array.shape):
                wanted = [None if d.size < 0 else d.size for d in shape.dim]
                text = f"stand-in: {key} has the shape {list(array.shape)}, "
                refuse(f"{text}the signature says {wanted}")
        tensors = {key: tf.constant(array) for key, array in arrays.items()}
        outputs = self.model.signatures[name](**tensors)
        return {key: value.numpy() for key, value in outputs.items()}

    def warm_up(self, file):
        count = 0
        for record in tf.data.TFRecordDataset(str(file)) if file.exists() else ():
            log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
            request, count = log.predict_log.request, count + 1
            if count > MOST_WARMUP:
                text = "Number of warmup records exceeds the maximum"
                raise ValueError(f"{text} ({MOST_WARMUP}) at {file}")
            self.run(name_of(request.model_spec), arrays_of(request))
        return count


class Model:
    """The versions of one model: the numbered folders under `base` that its policy wants."""

    def __init__(self, name, base, policy, retries=5):
        self.name, self.base, self.policy = name, pathlib.Path(base), policy
        self.loaded, self.ended, self.retries, self.tries = {}, {}, retries, {}

    def poll(self):
        """Load what is new, then drop what is no longer wanted."""
        folders = self.base.iterdir() if self.base.is_dir() else ()
        found = sorted(int(f.name) for f in folders if f.name.isdigit())
        kind = self.policy.WhichOneof("policy_choice")
        if kind == "specific":
            found = [
                number for number in found if number in self.policy.specific.versions
            ]
        elif kind != "all":
            found = found[-(self.policy.latest.num_versions or 1) :]
        self.tries = {number: self.tries.get(number, 0) for number in found}
        for number in set(found) - set(self.loaded):
            if self.tries[number] > self.retries:
                continue
            try:
                self.loaded = {**self.loaded, number: Version(self.base / str(number))}
                self.ended.pop(number, None)
            except Exception as error:  # perhaps half copied: the next poll tries again
                self.ended[number] = str(error)
                self.tries[number] += 1
        if any(number in self.loaded for number in found):
            self.ended.update((number, "") for number in set(self.loaded) - set(found))
            self.loaded = {n: one for n, one in self.loaded.items() if n in found}

    def version(self, number=None):
        loaded = self.loaded
        if not loaded or (number is not None and number not in loaded):
            what = f"Latest({self.name})"
            what = what if number is None else f"Specific({self.name}, {number})"
            refuse(f"Servable not found for request: {what}", "NOT_FOUND")
        number = max(loaded) if number is None else number
        return number, loaded[number]

    def status(self, number=None):
        answer = get_model_status_pb2.GetModelStatusResponse()
        rows = [(n, State.AVAILABLE, "") for n in self.loaded]
        rows += [(n, State.END, text) for n, text in self.ended.items()]
        for n, state, text in sorted(rows, reverse=True):
            if number in (None, n):
                code = 2 if text else 0  # UNKNOWN or OK
                status = {"error_code": code, "error_message": text}
                answer.model_version_status.add(version=n, state=state, status=status)
        if not answer.model_version_status:
            what = "any versions" if number is None else f"version {number}"
            refuse(f"Could not find {what} of model {self.name}", "NOT_FOUND")
        return answer

    def metadata(self, number=None):
        number, version = self.version(number)
        answer = get_model_metadata_pb2.GetModelMetadataResponse()
        answer.model_spec.name, answer.model_spec.version.value = self.name, number
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for key, one in version.declared.items():
            signatures.signature_def[key].CopyFrom(one)
        answer.metadata["signature_def"].Pack(signatures)
        return answer


def name_of(spec):
    return spec.signature_name or "serving_default"


def number_of(spec):
    return spec.version.value if spec.HasField("version") else None


def arrays_of(request):
    return {key: tf.make_ndarray(tensor) for key, tensor in request.inputs.items()}


class Predictor(
    prediction_service_pb2_grpc.PredictionServiceServicer,
    model_service_pb2_grpc.ModelServiceServicer,
):
    """The two gRPC services; each call that fails ends with the code of its refusal."""

    def __init__(self, models):
        self.models = models

    def answer(self, request, context, work):
        spec = request.model_spec
        try:
            model = self.models.get(spec.name) or Model(spec.name, "", None)
            return work(model, number_of(spec))
        except RefusedError as refusal:
            text, code = refusal.args
            context.abort(grpc.StatusCode[code], text)
        except Exception as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"stand-in: {error}")

    def Predict(self, request, context):  # noqa: N802 - the service names its methods
        def work(model, number):
            number, version = model.version(number)
            signature = name_of(request.model_spec)
            outputs = version.run(signature, arrays_of(request))
            answer = predict_pb2.PredictResponse()
            spec = answer.model_spec
            spec.name, spec.version.value = model.name, number
            spec.signature_name = signature
            for key in request.output_filter or outputs:
                answer.outputs[key].CopyFrom(tf.make_tensor_proto(outputs[key]))
            return answer

        return self.answer(request, context, work)

    def GetModelMetadata(self, request, context):  # noqa: N802
        return self.answer(request, context, Model.metadata)

    def GetModelStatus(self, request, context):  # noqa: N802
        return self.answer(request, context, Model.status)


def pieces(value, before="", indent="\n"):
    """Yield JSON piece by piece: objects on several lines, arrays on one."""
    if isinstance(value, dict):
        yield before + "{"
        for number, (key, item) in enumerate(value.items()):
            yield f"{',' if number else ''}{indent}    {json.dumps(key, ensure_ascii=False)}"
            yield from pieces(item, ": ", indent + "    ")
        yield (indent if value else "") + "}"
    elif isinstance(value, list):
        yield before + "["
        for number, item in enumerate(value):
            yield from pieces(item, ", " if number else "", indent + "    ")
        yield "]"
    else:
        yield before + json.dumps(value, ensure_ascii=False)


def shown(value):
    """Write a JSON value as TensorFlow Serving's messages do, which end a long one early."""
    text = ""
    for piece in pieces(value):
        if len(text) < MOST_SHOWN:
            text += piece
    return f"JSON Value: {text}"


def shape_of(value):
    """Return the shape that the first items of nested lists have."""
    if not isinstance(value, list):
        return ()
    return (len(value), *(shape_of(value[0]) if value else ()))


def misfit(value, info, shape, level=0):
    """Say why a JSON value is no tensor of this type and shape; None where it is one."""
    if isinstance(value, list):
        if level >= len(shape):
            rank = len(shape)
            return f"Encountered list at unexpected level: {level} expected < {rank}"
        if len(value) != shape[level]:
            text = f"Encountered list at unexpected size: {len(value)} at level: "
            return f"{text}{level} expected size: {shape[level]}"
        found = (misfit(item, info, shape, level + 1) for item in value)
        return next(filter(None, found), None)
    if level != len(shape):
        text = f"{shown(value)} found at incorrect level: {level + 1} in the JSON DOM."
        return f"{text} Expected at level: {len(shape)}"
    kind = tf.as_dtype(info.dtype)
    fits = str if kind == tf.string else (int, float) if kind.is_floating else int
    if isinstance(value, bool) != kind.is_bool or not isinstance(value, fits):
        named = str(value) if isinstance(value, bool) else "Number"
        named = JSON_TYPE.get(type(value), named)
        wanted = types_pb2.DataType.Name(info.dtype)[3:].lower()
        return f"{shown(value)} Type: {named} is not of expected type: {wanted}"
    return None


def unlike(value, first):
    """Say why a row is not of the shape of the first one; None where it is."""
    shape, wanted = shape_of(value), shape_of(first)
    sizes = math.prod(wanted), math.prod(shape)
    if sizes[0] != sizes[1]:
        return f"Expecting tensor size: {sizes[0]} but got: {sizes[1]}"
    if shape != wanted:
        texts = [f"[{','.join(map(str, one))}]" for one in (wanted, shape)]
        return f"Expecting shape {texts[0]} but got: {texts[1]}"
    return None


def array_of(value, info):
    """Make an array of nested lists of JSON; refuse what is no tensor."""
    kind = tf.as_dtype(info.dtype)
    wanted = "if" if kind.is_floating else "b" if kind.is_bool else "i"
    with contextlib.suppress(ValueError):  # lists of different lengths
        array = np.asarray(value)
        if array.dtype.kind in wanted:
            return array.astype(kind.as_numpy_dtype)
    if text := misfit(value, info, shape_of(value)):
        refuse(text)
    return np.asarray(value, kind.as_numpy_dtype)


def array_of_rows(rows, info, where):
    """Make an array of rows; refuse the first that does not fit, and say where it is."""
    try:
        return array_of(rows, info)
    except RefusedError:
        for number, row in enumerate(rows):
            if isinstance(row, dict) and where == "{}":
                text = f"Expecting value/list but got object at item {number}"
                refuse(f"{text} of input list")
            text = misfit(row, info, shape_of(row)) or unlike(row, rows[0])
            if text:
                refuse(ROW.format(where.format(number)) + text)
        raise


ROW = "Failed to process element: {} of 'instances' list. Error: INVALID_ARGUMENT: "
SEVERAL = "multiple input tensors required as per tensorinfo_map"


def arrays_of_json(body, known):
    """Return the inputs of a REST request."""
    rows = "instances" in body
    if rows and "inputs" in body:
        text = "Not formatted correctly expecting only one of 'inputs' or 'instances'"
        refuse(f"{shown(body)} {text} keys to exist ")
    if not rows and "inputs" not in body:
        refuse("Missing 'inputs' or 'instances' key")
    value = body["instances" if rows else "inputs"]
    if rows and not isinstance(value, list):
        refuse(f"{shown(body)} Expecting 'instances' to be an list/array")
    if rows and not value:
        refuse(f"{shown(body)} No values in 'instances' array")
    if not isinstance(value[0] if rows else value, dict):
        if len(known) > 1:
            text = "instances is a plain list, but expecting list of objects as "
            if not rows:
                text = "inputs is a plain value/list, but expecting an object as "
            refuse(text + SEVERAL)
        [(key, info)] = known.items()
        return {
            key: array_of_rows(value, info, "{}") if rows else array_of(value, info)
        }
    if not rows:
        for key in sorted(set(known) - set(value)):
            refuse(f"Missing named input: {key} in 'inputs' object.")
        return {key: array_of(value[key], known[key]) for key in known}
    for number, row in enumerate(value):
        if not isinstance(row, dict):
            refuse(f"Expecting object but got list at item {number} of input list")
        for key in row:
            if key not in known:
                where = ROW.format(f"{number} key: {key}")
                refuse(f"{where}JSON object: does not have named input: {key}")
        if set(row) != set(known):
            text = f"Failed to process element: {number} of 'instances' list. JSON "
            text += shown(row).replace("JSON Value", "object", 1)
            refuse(f"{text} keys must be equal to: {','.join(sorted(known))}")
    return {
        key: array_of_rows([row[key] for row in value], info, f"{{}} key: {key}")
        for key, info in known.items()
    }


def predict(model, number, body):
    number, version = model.version(number)
    signature = body.get("signature_name", "serving_default")
    if signature not in version.model.signatures:
        refuse(f'Serving signature name: "{signature}" not found in signature def')
    known = version.declared[signature].inputs
    arrays, rows = arrays_of_json(body, known), "instances" in body
    outputs = {k: v.tolist() for k, v in version.run(signature, arrays).items()}
    one = next(iter(outputs.values())) if len(outputs) == 1 else None
    if not rows:
        return {"outputs": outputs if one is None else one}
    many = [
        dict(zip(outputs, row, strict=True))
        for row in zip(*outputs.values(), strict=True)
    ]
    return {"predictions": many if one is None else one}


class Rest(BaseHTTPRequestHandler):
    """The REST paths: status, metadata and predict, with or without a version."""

    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = PATHS[self.command].fullmatch(self.path)
        if not found:
            refuse(f"Malformed request: {self.command} {self.path}")
        name, number, method = found.groups()
        model = self.server.models.get(name) or Model(name, "", None)
        number = int(number) if number else None
        if method == "predict":
            return predict(model, number, json.loads(body))
        message = model.metadata(number) if method else model.status(number)
        # Every field is shown, also an empty one, under the name that the .proto gives it.
        shown = {"always_print_fields_with_no_presence": True}
        return json_format.MessageToDict(
            message, preserving_proto_field_name=True, **shown
        )

    def do_GET(self):
        try:
            code, text = 200, json.dumps(self.answer(), indent=4)
        except RefusedError as refusal:
            code = 404 if refusal.args[1] == "NOT_FOUND" else 400
            text = json.dumps({"error": str(refusal)}, indent=4)
        except Exception as error:
            code, text = 400, json.dumps({"error": f"stand-in: {error}"}, indent=4)
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_):
        """Say nothing of single requests."""


class Listener(ThreadingHTTPServer):
    allow_reuse_port = False  # some releases of Python let two servers share a port


class Servers:
    """Both servers on free ports, or on those that were asked for, and the polling."""

    def __init__(self, models, grpc_port=0, rest_port=0, poll=1.0):
        self.models = models
        for model in models.values():
            model.poll()
            if not model.loaded:
                why = model.ended or f"no version in {model.base}"
                raise SystemExit(f"stand-in: {model.name} did not load: {why}")
        predictor, self.ended = Predictor(models), threading.Event()
        # Requests of any size, as TensorFlow Serving takes them; the default is 4 MB.
        options = [("grpc.max_receive_message_length", -1)]
        options += [("grpc.so_reuseport", 0)]  # share no port with another server
        self.grpc = grpc.server(futures.ThreadPoolExecutor(8), options=options)
        for service, name in (
            (prediction_service_pb2_grpc, "PredictionService"),
            (model_service_pb2_grpc, "ModelService"),
        ):
            getattr(service, f"add_{name}Servicer_to_server")(predictor, self.grpc)
        self.grpc_port = self.grpc.add_insecure_port(f"127.0.0.1:{grpc_port}")
        self.rest = Listener(("127.0.0.1", rest_port), Rest)
        self.rest.models, self.rest_port = models, self.rest.server_port
        self.grpc.start()
        self.thread = threading.Thread(target=self.rest.serve_forever, daemon=True)
        self.thread.start()
        self.poll = poll

    def run(self, parent):
        """Poll for versions until `close`, or until the process `parent` is gone."""
        again = self.poll > 0  # as in TensorFlow Serving, 0 means: only at the start
        pause = self.poll if again else 1
        while not self.ended.wait(pause) and parent in (0, os.getppid()):
            for model in self.models.values() if again else ():
                model.poll()
        self.close()

    def close(self):
        self.ended.set()
        self.rest.shutdown()
        self.rest.server_close()
        self.grpc.stop(None).wait()


def models_of(flags):
    """Return the models that the flags, or the file they name, ask for."""
    config = model_server_config_pb2.ModelServerConfig()
    if flags.model_config_file:
        text_format.Parse(pathlib.Path(flags.model_config_file).read_text(), config)
    elif not flags.model_base_path:
        sys.exit("stand-in: no --model_base_path and no --model_config_file")
    else:
        one = {"name": flags.model_name, "base_path": flags.model_base_path}
        config.model_config_list.config.add(**one)
    return {
        one.name: Model(
            one.name,
            one.base_path,
            one.model_version_policy,
            flags.max_num_load_retries,
        )
        for one in config.model_config_list.config
    }


if len(sys.argv) > 1:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name", default="default")
    parser.add_argument("--model_base_path", default="")
    parser.add_argument("--model_config_file")
    parser.add_argument("--port", type=int, default=8500)
    parser.add_argument("--rest_api_port", type=int, default=8501)
    parser.add_argument("--file_system_poll_wait_seconds", type=float, default=1)
    parser.add_argument("--max_num_load_retries", type=int, default=5)
    parser.add_argument("--parent", type=int, default=0, help="end with this process")
    flags = parser.parse_args()
    servers = Servers(
        models_of(flags),
        flags.port,
        flags.rest_api_port,
        flags.file_system_poll_wait_seconds,
    )
    print(f"stand-in: gRPC {servers.grpc_port} REST {servers.rest_port}", flush=True)
    servers.run(flags.parent)
    sys.exit()


# --8<-- [start:check]
class Scale(tf.Module):
    """Multiply rows of three numbers by the version, and add them up."""

    def __init__(self, version):
        super().__init__()
        self.factor = tf.Variable([1.0, 2.0, 3.0]) * version

    @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32, name="x")])
    def __call__(self, x):
        return {"scaled": x * self.factor, "total": tf.reduce_sum(x * self.factor, 1)}


def save(version):
    """Write under another name first, so that no server reads half a version."""
    model = Scale(version)
    tf.saved_model.save(model, f"{base}/new", signatures=model.__call__)
    os.rename(f"{base}/new", f"{base}/{version}")


def ask_rest(path, body=None):
    url = f"http://127.0.0.1:{servers.rest_port}/v1/models/scale{path}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(url, data, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return {"code": error.code, **json.load(error)}


def ask_grpc(array):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "scale"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(array))
    address = f"127.0.0.1:{servers.grpc_port}"
    with grpc.insecure_channel(address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        try:
            answer = stub.Predict(request, timeout=30)
        except grpc.RpcError as error:
            return {"code": error.code().name, "error": error.details()}
    return {key: tf.make_ndarray(value) for key, value in answer.outputs.items()}


x = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
with tempfile.TemporaryDirectory() as base:
    save(1)
    policy = model_server_config_pb2.ModelConfig().model_version_policy
    servers = Servers({"scale": Model("scale", base, policy)})
    direct = tf.saved_model.load(f"{base}/1").signatures["serving_default"](x=x)
    by_grpc = ask_grpc(x)
    rows = ask_rest(":predict", {"instances": x.tolist()})["predictions"]
    columns = ask_rest(":predict", {"inputs": {"x": x.tolist()}})["outputs"]
    short = ask_grpc(x[:, :2]), ask_rest(":predict", {"instances": x[:, :2].tolist()})
    both = ask_rest(":predict", {"instances": [[1.5]], "inputs": {"x": [[1.5]]}})
    save(2)
    servers.models["scale"].poll()
    doubled = ask_grpc(x)
    old = ask_rest("/versions/1:predict", {"instances": x.tolist()})
    states = ask_rest("")["model_version_status"]
    try:
        Servers(servers.models, servers.grpc_port).close()
        refused = False
    except RuntimeError as error:
        refused = "Failed to bind" in str(error)
    servers.close()

print("gRPC answers:", sorted(by_grpc), "first total:", f"{by_grpc['total'][0]:.4f}")
print("REST answers:", sorted(columns), "first total:", f"{columns['total'][0]:.4f}")
print("gRPC, two numbers:", short[0])
print("REST, two numbers:", short[1])
print("version 1, after version 2 came:", old)
print("states:", {one["version"]: one["state"] for one in states})
print("a second server on its gRPC port is refused:", refused)
# --8<-- [end:check]

same = {key: direct[key].numpy() for key in direct}
claims = {
    "grpc_equals_signature": all(np.array_equal(by_grpc[k], same[k]) for k in same),
    "rest_rows_equal_signature": all(
        np.array_equal(np.float32([row[k] for row in rows]), same[k]) for k in same
    ),
    "rest_columns_equal_signature": all(
        np.array_equal(np.float32(columns[k]), same[k]) for k in same
    ),
    "wrong_shape_is_refused": short[0]["code"] == "INVALID_ARGUMENT"
    and short[1]["code"] == 400,
    "rows_beside_columns_are_refused": both["code"] == 400
    and "expecting only one of 'inputs' or 'instances' keys" in both["error"],
    "new_version_answers": np.array_equal(doubled["total"], same["total"] * 2),
    "old_version_is_gone": old["code"] == 404,
    "a_port_in_use_is_refused": refused,
}
measures = {"server": "stand-in"}
