# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "fastapi>=0.165", "uvicorn>=0.51"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Answer requests with the SavedModel in the folder $MODEL: uvicorn fastapi_app:app.

Run as a program, it checks itself with a model of its own.
"""

# --8<-- [start:app]
import contextlib
import os
from typing import Annotated

import tensorflow as tf
from fastapi import FastAPI, Request
from pydantic import BaseModel, Field

# Nested, these types are the shape that the signature declares: (rows, 8, 8, 1).
Value = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1)]
Pixel = Annotated[list[Value], Field(min_length=1, max_length=1)]
Row = Annotated[list[Pixel], Field(min_length=8, max_length=8)]
Image = Annotated[list[Row], Field(min_length=8, max_length=8)]


class Images(BaseModel):
    """What a client sends. FastAPI answers 422 where it does not fit, and 500 for NaN."""

    instances: Annotated[list[Image], Field(min_length=1, max_length=512)]


@contextlib.asynccontextmanager
async def lifespan(app):
    """Load the model before the first request; keep it as long as the server runs."""
    loaded = tf.saved_model.load(os.environ["MODEL"])
    call = loaded.signatures["serving_default"]
    call(image=tf.zeros((1, 8, 8, 1)))  # warm-up: no client waits for this one
    yield {"call": call}


LIMIT = 2_000_000  # bytes of a request; more get 413
app = FastAPI(lifespan=lifespan, max_body_size=LIMIT)
if not hasattr(app, "max_body_size"):  # an older one takes the word, and limits nothing
    raise ImportError("fastapi>=0.165 is needed")


@app.post("/predict")
def predict(images: Images, request: Request):  # def: it runs in a thread
    image = tf.constant(images.instances, tf.float32)
    probabilities = request.state.call(image=image)["output_0"].numpy()
    return {"probabilities": probabilities.tolist(), "process": os.getpid()}


@app.get("/health")
async def health():  # async def: no busy thread can hold it up
    return {"process": os.getpid()}


# --8<-- [end:app]

if __name__ == "__main__":
    # --8<-- [start:check]
    import http.client
    import json
    import tempfile
    import threading
    import time
    import urllib.error
    import urllib.request

    import uvicorn

    class Bright(tf.Module):
        """Answer with the first ten pixels, as if they were probabilities."""

        @tf.function(
            input_signature=[tf.TensorSpec((None, 8, 8, 1), tf.float32, name="image")]
        )
        def __call__(self, image):
            return {"output_0": tf.reshape(image, (-1, 64))[:, :10]}

    def ask(path, body=None):
        """GET where there is no body, else POST it. Return status and answer."""
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{port}/{path}"
        request = urllib.request.Request(
            url, data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=100) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def declare(size):
        """Announce a body of this many bytes, and send none of them. Return the status."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
        connection.putrequest("POST", "/predict")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(size))
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        return status

    image = [[[row / 8] for _ in range(8)] for row in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        model = Bright()
        tf.saved_model.save(model, folder, signatures=model.__call__)
        os.environ["MODEL"] = folder
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            alive = ask("health")
            right = ask("predict", {"instances": [image, image]})
            wrong = ask("predict", {"instances": image})
            text = ask("predict", {"instances": [[[["0.5"]] * 8] * 8]})
            true = ask("predict", {"instances": [[[[True]] * 8] * 8]})
            huge = ask("predict", {"instances": [[[[1e39]] * 8] * 8]})
            long = declare(LIMIT + 1)
        finally:
            server.should_exit = True
            thread.join()

    print("health:", alive[0])
    print("two images:", right[0], right[1]["probabilities"])
    print("the batch forgotten:", wrong[0], wrong[1]["detail"][0]["msg"])
    print("text for numbers:", text[0], text[1]["detail"][0]["msg"])
    print("a number that is no pixel:", huge[0], huge[1]["detail"][0]["msg"])
    print("a body that is too long:", long)
    # --8<-- [end:check]
    claims = {
        "it_is_alive": alive == (200, {"process": os.getpid()}),
        "two_images_get_two_answers": right[1]["probabilities"]
        == [[0.0] * 8 + [0.125] * 2] * 2,
        "a_wrong_shape_is_422": wrong[0] == 422,
        "text_and_true_for_numbers_are_422": text[0] == true[0] == 422,
        "a_number_beyond_float32_is_422": huge[0] == 422,
        "a_body_that_is_too_long_is_413": long == 413,
    }
