# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["tensorflow==2.21.*", "pillow>=11"]
#
# [tool.guide]
# devices = 0
# seconds = 60
# ///
"""What decode_image makes of a photograph that a phone turned, and of a picture with transparency."""

# --8<-- [start:decode]
import io

import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps

ORIENTATION, TURNED = 0x0112, 6  # EXIF: the picture is to be turned by 90 degrees
photo = Image.new("RGB", (16, 8))  # width, height
exif = photo.getexif()
exif[ORIENTATION] = TURNED
logo = Image.new("RGBA", (8, 8), (0, 0, 0, 0))  # nothing but transparent


def encoded(picture, kind, **options):
    """Return the bytes of a picture as a file."""
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


jpeg = encoded(photo, "JPEG", exif=exif)
decoded = tf.io.decode_image(jpeg).shape[:2]
upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(jpeg)))).shape[:2]
print("height, width:", tuple(decoded), "- as a browser shows it:", upright)

png = encoded(logo, "PNG")
pixels = tf.io.decode_image(png, channels=3).numpy()
white = Image.new("RGBA", logo.size, "white")
flat = np.asarray(Image.alpha_composite(white, logo).convert("RGB"))
print("transparent:", pixels[0, 0], "- flattened on white:", flat[0, 0])
# --8<-- [end:decode]

claims = {
    "the_orientation_is_ignored": tuple(decoded) == (8, 16) and upright == (16, 8),
    "transparency_is_dropped": not pixels.any() and bool((flat == 255).all()),
}
