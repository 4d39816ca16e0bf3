# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*"]
#
# [tool.guide]
# devices = 0
# seconds = 120
# ///
"""Answer requests with the SavedModel in the folder $MODEL: gunicorn "wsgi_app:make()".

Run as a program, it checks itself with a model of its own.
"""

# --8<-- [start:app]
import json
import os

import numpy as np
import tensorflow as tf

LIMIT = 2_000_000  # bytes of a request


def make():
    """Load the model and return the application."""
    loaded = tf.saved_model.load(os.environ["MODEL"])

    def app(environ, start_response):
        size = int(environ.get("CONTENT_LENGTH") or 0)
        if size > LIMIT:
            start_response("413 Content Too Large", [("Content-Type", "text/plain")])
            return []
        try:
            rows = json.loads(environ["wsgi.input"].read(size))["instances"]
            # Text is no number, nor is `true` alone; among numbers it counts as 1.
            rows = np.asarray(rows)
            image = rows.astype("float32") if rows.dtype.kind in "iuf" else np.zeros(0)
        except (ValueError, TypeError, KeyError, RecursionError):
            image = np.zeros(0)
        # NaN is in no range. A huge number would make it one, which JSON cannot hold.
        if image.shape[1:] == (8, 8, 1) and ((image >= 0) & (image <= 1)).all():
            outputs = loaded.signatures["serving_default"](image=tf.constant(image))
            status = "200 OK"
            answer = {"probabilities": outputs["output_0"].numpy().tolist()}
        else:
            status = "400 Bad Request"
            answer = {"error": "instances: numbers from 0 to 1, shape (rows, 8, 8, 1)"}
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    return app


# --8<-- [end:app]

if __name__ == "__main__":
    # --8<-- [start:check]
    import io
    import tempfile

    class Bright(tf.Module):
        """Answer with the first ten pixels, as if they were probabilities."""

        @tf.function(
            input_signature=[tf.TensorSpec((None, 8, 8, 1), tf.float32, name="image")]
        )
        def __call__(self, image):
            return {"output_0": tf.reshape(image, (-1, 64))[:, :10]}

    def ask(text):
        """Call the application as a server does; return status and answer."""
        status = []
        environ = {"CONTENT_LENGTH": str(len(text)), "wsgi.input": io.BytesIO(text)}
        parts = app(environ, lambda line, headers: status.append(line))
        return status[0], json.loads(b"".join(parts) or b"null")

    image = [[[row / 8] for _ in range(8)] for row in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        model = Bright()
        tf.saved_model.save(model, folder, signatures=model.__call__)
        os.environ["MODEL"] = folder
        app = make()
    right = ask(json.dumps({"instances": [image, image]}).encode())
    wrong = [
        ask(json.dumps({"instances": image}).encode()),
        ask(json.dumps({"images": [image]}).encode()),
        ask(json.dumps({"instances": [[[[float("nan")]] * 8] * 8]}).encode()),
        ask(json.dumps({"instances": [[[[3e38]] * 8] * 8]}).encode()),
        ask(json.dumps({"instances": [[[["0.5"]] * 8] * 8]}).encode()),
        ask(json.dumps({"instances": [[[[True]] * 8] * 8]}).encode()),
        ask(json.dumps({"instances": [[[[10**400]] * 8] * 8]}).encode()),
        ask(b"no JSON"),
        ask(b"[" * 100_000),
    ]
    long = ask(b" " * (LIMIT + 1))
    print("two images:", *right)
    print("the batch forgotten:", *wrong[0])
    print("a body that is too long:", long[0])
    # --8<-- [end:check]
    claims = {
        "two_images_get_two_answers": right[1]["probabilities"]
        == [[0.0] * 8 + [0.125] * 2] * 2,
        "what_does_not_fit_is_400": all(one[0].startswith("400") for one in wrong),
        "a_body_that_is_too_long_is_413": long[0].startswith("413"),
    }
