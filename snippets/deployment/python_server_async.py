# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "fastapi>=0.165", "uvicorn>=0.51"]
#
# [tool.guide]
# devices = 0
# seconds = 180
# ///
"""Call a slow model in a `def` and in an `async def` endpoint, and ask the same server something else meanwhile."""

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf
import uvicorn
from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool

# --8<-- [start:slow]
begun, asked = threading.Event(), threading.Event()


def wait(limit):
    """Wait until /health is asked; return False if that takes more than `limit` seconds."""
    begun.set()
    return asked.wait(float(limit))


@tf.function
def slow_model(limit):
    """Stand for a model that takes long: it answers once /health was asked."""
    return tf.numpy_function(wait, [limit], tf.bool)


# --8<-- [end:slow]

# --8<-- [start:endpoints]
PATIENCE, LIMIT = 60.0, 5.0  # seconds
app = FastAPI()


@app.get("/health")
async def health():
    asked.set()
    return True


@app.post("/plain")
def plain():
    return bool(slow_model(PATIENCE))


@app.post("/blocking")
async def blocking():
    return bool(slow_model(LIMIT))  # the event loop runs this and nothing else


@app.post("/awaited")
async def awaited():
    return bool(await run_in_threadpool(slow_model, PATIENCE))


# --8<-- [end:endpoints]

server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
thread = threading.Thread(target=server.run, daemon=True)
thread.start()
while not server.started and thread.is_alive():
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]


# --8<-- [start:ask]
def ask(method, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
    try:
        connection.request(method, path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def meanwhile(path):
    """Ask for `path`, then for /health; say whether /health was answered first."""
    begun.clear()
    asked.clear()
    slow = client.submit(ask, "POST", path)
    begun.wait(PATIENCE)
    ask("GET", "/health")
    return slow.result()


try:
    with ThreadPoolExecutor(1) as client:
        found = {path: meanwhile(path) for path in ("/plain", "/awaited", "/blocking")}
finally:
    server.should_exit = True
    thread.join()
for path, answered in found.items():
    print(f"{path}: /health was answered meanwhile: {answered}")
# --8<-- [end:ask]

claims = {
    "def_leaves_the_server_free": found["/plain"],
    "async_def_blocks_the_server": not found["/blocking"],
    "a_thread_awaited_leaves_it_free": found["/awaited"],
}
measures = {"limit": int(LIMIT)}
