# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#     "tensorflow==2.21.*",
#     "keras==3.15.*",
#     "tensorflow-serving-api==2.21.*",
#     "grpcio",
#     "scikit-learn",
# ]
#
# [tool.guide]
# devices = 0
# processes = 2
# seconds = 120
# files = ["model_server.py", "stand_in.py"]
# ///
"""Probe a model server by the state of its versions, and ask it with curl."""

import json
import pathlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from model_server import ModelServer

tf.config.set_visible_devices([], "GPU")  # as in the server below

# --8<-- [start:model]
keras.utils.set_random_seed(0)
digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)
model = keras.Sequential(
    [
        keras.Input((8, 8, 1), name="image"),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=15, verbose=0)
# --8<-- [end:model]


# --8<-- [start:probe]
def probe(address, path):
    """Return the status of HTTP, or None where nobody answers, and whether it is ready."""
    url = f"http://{address}/v1/models/{path}"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            versions = json.load(answer)["model_version_status"]
    except urllib.error.HTTPError as error:
        return error.code, False
    except OSError:
        return None, False
    return 200, any(one["state"] == "AVAILABLE" for one in versions)


# --8<-- [end:probe]


# --8<-- [start:command]
READY = r"""
[[ $# -ge 3 ]] || exit 2 # without a path there would be nothing to fail
for path in "${@:3}"; do
  exec 3<>/dev/tcp/$1/$2
  printf 'GET /v1/models/%s HTTP/1.0\r\n\r\n' "$path" >&3
  grep --quiet '"AVAILABLE"' <&3 || exit 1
done
"""


def ready(address, *paths):
    """Return the exit code of a probe that needs only bash and grep: 0 where each path has a version."""
    command = ["bash", "-c", READY, "probe", *address.split(":"), *paths]
    return subprocess.run(
        command, check=False, stderr=subprocess.DEVNULL, timeout=100
    ).returncode


# --8<-- [end:command]

work = tempfile.TemporaryDirectory()
base = pathlib.Path(work.name, "digits")
model.export(base / "1", verbose=False)
signature = tf.saved_model.load(str(base / "1")).signatures["serving_default"]
direct = signature(image=x_test[:1])["output_0"].numpy()
flags = ["--file_system_poll_wait_seconds=1", "--max_num_load_retries=0"]
flags += ["--model_name=digits", f"--model_base_path={base}"]

seen = {}
with work, ModelServer(*flags) as server:
    # --8<-- [start:curl]
    request = pathlib.Path(work.name, "request.json")
    request.write_text(json.dumps({"instances": x_test[:1].tolist()}))
    url = f"http://{server.rest}/v1/models/digits:predict"
    command = ["curl", "--fail-with-body", "--silent", "--show-error"]
    command += ["--data", f"@{request}", url]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    by_curl = np.float32(json.loads(done.stdout)["predictions"])
    print("digit:", by_curl.argmax(axis=1), "- and it is a", y_test[0])
    # --8<-- [end:curl]

    # --8<-- [start:states]
    (base / "2").mkdir()
    (base / "2" / "saved_model.pb").write_bytes(b"half written")
    while probe(server.rest, "digits/versions/2") != (200, False):
        time.sleep(0.1)  # until the server has looked at the folder
    for path in ("digits", "digits/versions/1", "digits/versions/2", "digit"):
        seen[path] = probe(server.rest, path)
        print(f"{path}: {seen[path][0]}, ready: {seen[path][1]}")
    # --8<-- [end:states]
    # --8<-- [start:bash]
    codes = {path: ready(server.rest, path) for path in seen}
    both = ready(server.rest, "digits/versions/1", "digits/versions/2")
    print(codes, "- versions 1 and 2:", both)
    # --8<-- [end:bash]
    nothing = ready(server.rest)
    # --8<-- [start:unload]
    model.export(pathlib.Path(work.name, "next"), verbose=False)
    pathlib.Path(work.name, "next").rename(base / "3")  # whole when the server sees it
    old, new = "digits/versions/1", "digits/versions/3"
    while not probe(server.rest, new)[1] or probe(server.rest, old)[1]:
        time.sleep(0.1)  # until the server has loaded one and dropped the other
    unloaded = probe(server.rest, old)
    after = [ready(server.rest, path) for path in (old, new)]
    print(f"{old}: {unloaded[0]}, ready: {unloaded[1]}; exit codes of both:", after)
    # --8<-- [end:unload]
gone, code_of_nobody = probe(server.rest, "digits"), ready(server.rest, "digits")

claims = {
    "curl_equals_the_signature": bool(np.allclose(by_curl, direct, atol=1e-6)),
    "curl_reads_the_digit": bool(by_curl.argmax() == y_test[0]),
    "a_loaded_version_is_ready": seen["digits/versions/1"] == (200, True),
    "two_hundred_is_not_ready": seen["digits/versions/2"] == (200, False),
    "the_model_is_ready_while_one_version_is": seen["digits"] == (200, True),
    "an_unknown_model_is_404": seen["digit"] == (404, False),
    "nobody_answers_when_it_has_ended": gone == (None, False),
    "an_unloaded_version_is_not_ready": unloaded == (200, False) and after == [1, 0],
    "bash_finds_what_the_probe_finds": all(
        (code == 0) == seen[path][1] for path, code in codes.items()
    ),
    "bash_fails_where_one_of_two_versions_fails": both == 1,
    "bash_fails_where_nobody_answers": code_of_nobody == 1,
    "bash_fails_without_a_path": nothing == 2,
}
measures = {"server": server.name}
