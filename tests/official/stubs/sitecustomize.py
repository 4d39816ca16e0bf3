"""Python runs this first in every process of a notebook: no downloads, and known data sets are noise of their shape.

What an import brings is replaced right after it, so a notebook's own lines stay as they are.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import re
import socket
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any, ClassVar, NoReturn

NO_NETWORK = "no download in this run"
# A fifth of MNIST's: as many rows are left over by batches of 64 or 128, and a run takes a fifth of the time.
TRAIN, TEST = 12_000, 2_000
SHAPES = {"mnist": (28, 28), "fashion_mnist": (28, 28), "cifar10": (32, 32, 3)}
# The modules that bring a data set, of Keras 3 and of tf_keras.
DATA = {f"{keras}.src.datasets.{name}": name for keras in ("keras", "tf_keras") for name in SHAPES}


def refuse(*_: Any, **__: Any) -> NoReturn:
    """Stand in for a function that downloads."""
    raise OSError(NO_NETWORK)


def arrays(name: str, rows: int) -> tuple[Any, Any]:
    """Return images of noise and their labels, the same in every process."""
    import numpy as np

    draw = np.random.default_rng(rows)
    labels = draw.integers(0, 10, rows, dtype=np.uint8)
    if name == "cifar10":
        labels = labels[:, None]
    return draw.integers(0, 256, (rows, *SHAPES[name]), dtype=np.uint8), labels


def rows_of(part: str, size: int) -> slice:
    """Return the rows that `train[:500]` or `test[10%:]` names."""
    found = re.fullmatch(r"\w+(?:\[(?P<start>\d+%?)?:(?P<stop>\d+%?)?\])?", part)
    if not found:
        refuse()

    def row(text: str | None) -> int | None:
        return text and (int(text[:-1]) * size // 100 if text.endswith("%") else int(text))  # type: ignore[return-value]

    return slice(row(found["start"]), row(found["stop"]))


def datasets() -> types.ModuleType:
    """Return a stand-in for tensorflow_datasets that knows MNIST."""
    found = types.ModuleType("tensorflow_datasets")

    def load(
        name: str,
        split: Any = None,
        with_info: bool = False,
        as_supervised: bool = False,
        batch_size: int = 0,
        **_: Any,
    ) -> Any:
        import tensorflow as tf

        if name != "mnist":
            refuse()

        def one(part: str) -> Any:
            size = TRAIN if part.startswith("train") else TEST
            images, labels = arrays("mnist", size)
            rows = tuple(column[rows_of(part, size)] for column in (images[..., None], labels.astype("int64")))
            named = rows if as_supervised else {"image": rows[0], "label": rows[1]}
            found = tf.data.Dataset.from_tensor_slices(named)
            return found.batch(size if batch_size < 0 else batch_size) if batch_size else found

        if split is None:
            made: Any = {part: one(part) for part in ("train", "test")}
        else:
            made = one(split) if isinstance(split, str) else [one(part) for part in split]
        sizes = {"train": types.SimpleNamespace(num_examples=TRAIN), "test": types.SimpleNamespace(num_examples=TEST)}
        return (made, types.SimpleNamespace(splits=sizes)) if with_info else made

    found.load = load  # type: ignore[attr-defined]
    found.disable_progress_bar = lambda: None  # type: ignore[attr-defined]
    return found


def ports() -> types.ModuleType:
    """Return a stand-in for portpicker."""
    found = types.ModuleType("portpicker")

    def pick_unused_port() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    found.pick_unused_port = pick_unused_port  # type: ignore[attr-defined]
    return found


def change(module: types.ModuleType) -> None:
    """Replace what a freshly imported module would download."""
    name = module.__name__
    if name == "urllib.request":
        module.urlopen = module.urlretrieve = refuse  # type: ignore[attr-defined]
    elif name == "keras.src.utils.file_utils":
        module.urlretrieve = refuse  # type: ignore[attr-defined]
    elif name in DATA:
        data = DATA[name]
        module.load_data = lambda *_, **__: (arrays(data, TRAIN), arrays(data, TEST))  # type: ignore[attr-defined]


class Finder(importlib.abc.MetaPathFinder):
    """Finds the stand-ins, and changes other modules once they are loaded."""

    WHOLE: ClassVar = {"tensorflow_datasets": datasets, "portpicker": ports}
    CHANGED = frozenset({"urllib.request", "keras.src.utils.file_utils", *DATA})

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Answer for the modules named above and leave the rest to others."""
        if name in self.WHOLE:
            return ModuleSpec(name, _Whole(self.WHOLE[name]))
        if name not in self.CHANGED:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                run(module)
                change(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class _Whole(importlib.abc.Loader):
    def __init__(self, make: Any) -> None:
        self.make = make

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return self.make()

    def exec_module(self, module: types.ModuleType) -> None:
        pass


if os.environ.get("OFFICIAL_RUN"):
    sys.meta_path.insert(0, Finder())
    if "urllib.request" in sys.modules:
        change(sys.modules["urllib.request"])
