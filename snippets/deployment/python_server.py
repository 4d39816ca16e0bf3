# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = [
#     "tensorflow==2.21.*",
#     "keras==3.15.*",
#     "fastapi>=0.165",
#     "uvicorn>=0.51",
#     "gunicorn>=25.1",
#     "scikit-learn",
#     "psutil",
# ]
#
# [tool.guide]
# devices = 0
# processes = 4
# seconds = 300
# tolerance = 0.5
# files = ["fastapi_app.py", "wsgi_app.py"]
# ///
"""Serve the digits model with FastAPI in two workers, stop them during a request, and preload it with gunicorn."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import keras
import numpy as np
import psutil
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

tf.config.set_visible_devices([], "GPU")  # as in the servers below

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
work = tempfile.TemporaryDirectory()
folder = f"{work.name}/digits"
model.export(folder, verbose=False)
loaded = tf.saved_model.load(folder)
direct = loaded.signatures["serving_default"](image=tf.constant(x_test))
direct = direct["output_0"].numpy()


# --8<-- [start:server]
class Server(contextlib.AbstractContextManager):
    """A server of the files beside this one, on a free port, with all its workers."""

    def __init__(self, module, *words):
        self.log = pathlib.Path(work.name, f"{module}.log")
        # Processes on one machine cannot share its GPU, so these take none.
        environment = {"MODEL": folder, "CUDA_VISIBLE_DEVICES": "-1"}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-B", "-P", "-m", module, *words],
                cwd=pathlib.Path(__file__).parent,
                env=os.environ | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a group of its own, to end all at once
            )

    def wait_for(self, pattern, times=1, seconds=300):
        """Return what the log says, as soon as it says it so many times."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            if len(found := re.findall(pattern, self.log.read_text())) >= times:
                return found
            time.sleep(0.05)
        raise RuntimeError(f"no {pattern!r}:\n{self.log.read_text()[-5000:]}")

    def __exit__(self, *_):
        workers = []
        with contextlib.suppress(psutil.NoSuchProcess):
            workers = psutil.Process(self.process.pid).children(recursive=True)
        with contextlib.suppress(ProcessLookupError):  # its group may outlive it
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for worker in workers:  # a large process takes a moment to end
            with contextlib.suppress(psutil.NoSuchProcess):
                while worker.status() != psutil.STATUS_ZOMBIE:
                    time.sleep(0.01)


# --8<-- [end:server]


# --8<-- [start:ask]
def ask(port, path, body=None, kind="application/json"):
    """GET where there is no body, else POST it as `kind`. Return status and answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=200)
    try:
        data = None if body is None else json.dumps(body)
        verb = "GET" if body is None else "POST"
        connection.request(verb, path, data, {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    except (http.client.HTTPException, OSError) as error:
        return f"{type(error).__name__}: {error}", None
    finally:
        connection.close()


# --8<-- [end:ask]

with contextlib.ExitStack() as stack:
    stack.callback(work.cleanup)
    # --8<-- [start:workers]
    words = ["fastapi_app:app", "--workers=2", "--port=0", "--no-access-log"]
    words += ["--timeout-worker-healthcheck=120"]
    server = stack.enter_context(Server("uvicorn", *words))
    port = int(server.wait_for(r"running on http://127\.0\.0\.1:(\d+)")[0])
    server.wait_for("Application startup complete", times=2)

    def ask_for(row):
        """Send one image."""
        return ask(port, "/predict", {"instances": x_test[row : row + 1].tolist()})

    rows, answers = 100, []
    with ThreadPoolExecutor(8) as clients:
        while len({answer["process"] for _, answer in answers}) < 2:  # by chance
            answers += clients.map(ask_for, range(rows))
    processes = {answer["process"] for _, answer in answers}
    first = np.float32([answer["probabilities"][0] for _, answer in answers[:rows]])
    difference = float(np.max(np.abs(first - direct[:rows])))
    print("each image alone, from 8 threads: equal to the signature:", end=" ")
    print(difference < 1e-6)
    print("processes that answered:", len(processes))
    # --8<-- [end:workers]

    # --8<-- [start:memory]
    alone = [psutil.Process(pid).memory_full_info().uss / 1e6 for pid in processes]
    variables = pathlib.Path(folder, "variables").iterdir()
    weights = sum(file.stat().st_size for file in variables) / 1e6
    print(
        "memory that each worker shares with no other: over 100 MB:", min(alone) > 100
    )
    print("weights of the model: below 1 MB:", weights < 1)
    # --8<-- [end:memory]

    # --8<-- [start:mistakes]
    tried = {
        "seven rows of pixels": ask(
            port, "/predict", {"instances": x_test[:1, :7].tolist()}
        ),
        "the batch forgotten": ask(port, "/predict", {"instances": x_test[0].tolist()}),
        "another name": ask(port, "/predict", {"images": x_test[:1].tolist()}),
        "no Content-Type": ask(
            port,
            "/predict",
            {"instances": x_test[:1].tolist()},
            "application/x-www-form-urlencoded",
        ),
    }
    for what, (status, answer) in tried.items():
        print(f"{what}: {status} {answer['detail'][0]['msg']}")
    alive = all(map(psutil.pid_exists, processes))
    print("/health:", ask(port, "/health")[0], "- both workers are alive:", alive)
    # --8<-- [end:mistakes]

    # --8<-- [start:end]
    body = json.dumps({"instances": x_test[:1].tolist()}).encode()
    late = http.client.HTTPConnection("127.0.0.1", port, timeout=200)
    late.putrequest("POST", "/predict")
    late.putheader("Content-Type", "application/json")
    late.putheader("Content-Length", str(len(body)))
    late.putheader("Expect", "100-continue")
    late.endheaders()
    begun = late.sock.recv(100)  # the endpoint's process waits for the body
    server.process.send_signal(signal.SIGTERM)
    server.wait_for("Waiting for connections to close")
    late.send(body)
    answer = late.getresponse()
    after = answer.status, json.loads(answer.read())
    late.close()
    code = server.process.wait(100)
    left = [pid for pid in processes if psutil.pid_exists(pid)]
    print(begun.decode().strip())
    print(
        "after SIGTERM:", after[0], "- exit code:", code, "- workers left:", len(left)
    )
    # --8<-- [end:end]

    # --8<-- [start:silent]
    # A large library in native code does this while it loads: no other thread runs.
    silent = "import ctypes\n\nctypes.PyDLL(None).sleep(60)\napp = None\n"
    pathlib.Path(work.name, "silent.py").write_text(silent)
    words = ["silent:app", f"--app-dir={work.name}", "--workers=2", "--port=0"]
    with Server("uvicorn", *words, "--timeout-worker-healthcheck=2") as server:
        died = server.wait_for(r"Child process \[\d+\] died", times=3)
    print(
        "uvicorn:", re.sub(r"\d+", "N", died[0]), "- again and again:", len(died) >= 3
    )
    # --8<-- [end:silent]

    # --8<-- [start:preload]
    image = {"instances": x_test[:1].tolist()}
    words = ["wsgi_app:make()", "--bind=127.0.0.1:0", "--no-control-socket"]
    found = {}
    for flags in (["--timeout=200"], ["--preload", "--timeout=5"]):
        with Server("gunicorn", *words, *flags) as server:
            port = int(server.wait_for(r"Listening at: http://127\.0\.0\.1:(\d+)")[0])
            found[flags[0]] = status, answer = ask(port, "/", image)
            print("gunicorn", *flags, "->", status if answer else "no answer")
            if flags[0] == "--preload":
                log = server.wait_for(r"\[CRITICAL\] WORKER TIMEOUT")[:1]
                killed = r"was sent SIGKILL! Perhaps out of memory\?"
                log += server.wait_for(killed)[:1]
    print(*log, sep="\n")
    # --8<-- [end:preload]


def equal(answer):
    """Tell whether an answer is that of the signature to the first image."""
    numbers = np.float32(answer["probabilities"])
    return float(np.max(np.abs(numbers - direct[:1]))) < 1e-6


plain, preloaded = found["--timeout=200"], found["--preload"]
claims = {
    "threads_get_the_numbers_of_the_signature": difference < 1e-6,
    "both_workers_answer": len(processes) == 2,
    "each_worker_has_its_own_memory": min(alone) > 100,
    "every_mistake_is_422": all(status == 422 for status, _ in tried.values()),
    "mistakes_end_no_worker": alive,
    "a_request_begun_is_answered_after_sigterm": after[0] == 200 and equal(after[1]),
    "it_ends_with_exit_code_0": code == 0 and not left,
    "a_silent_worker_is_replaced": len(died) >= 3,
    "gunicorn_answers": plain[0] == 200 and equal(plain[1]),
    "a_preloaded_model_answers": preloaded[0] == 200,
    "gunicorn_says_out_of_memory": "Perhaps out of memory" in log[-1],
}
measures = {"rows": rows, "worker_mb": round(float(np.mean(alone)), -1)}
errors = {
    "rows": f"HTTP 422: {tried['seven rows of pixels'][1]['detail'][0]['msg']}",
    "batch": f"HTTP 422: {tried['the batch forgotten'][1]['detail'][0]['msg']}",
    "content_type": f"HTTP 422: {tried['no Content-Type'][1]['detail'][0]['msg']}",
    "died": re.sub(r"\[\d+\]", "[...]", died[0]),
    "timeout": f"gunicorn: {log[0]} (pid:...)",
    "killed": f"gunicorn: Worker (pid:...) {log[-1]}",
}
