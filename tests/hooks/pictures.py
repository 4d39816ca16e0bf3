"""A figure of every kind, as programs write them."""

from __future__ import annotations

import math
from typing import Any

PICTURES: dict[str, dict[str, Any]] = {
    "lines": {
        "kind": "lines",
        "title": "Loss by step",
        "xlabel": "step",
        "ylabel": "mean squared error",
        "x": list(range(0, 100, 2)),
        "series": {
            "one device": [round(math.exp(-n / 20), 5) for n in range(50)],
            "four replicas, loss divided by the global batch": [round(math.exp(-n / 20) * 1.1, 5) for n in range(50)],
            "divided by the replica's batch": [round(math.exp(-n / 9), 5) for n in range(50)],
        },
    },
    "lines-log": {
        "kind": "lines",
        "xlabel": "replicas",
        "ylabel": "bytes sent by each device",
        "x": [1, 2, 4, 8, 16],
        "xscale": "log2",
        "yscale": "log",
        "series": {"ring": [None, 1e6, 1.5e6, 1.75e6, 1.875e6], "all to one": [1e5, 2e6, 4e6, 8e6, 1.6e7]},
    },
    "bars": {
        "kind": "bars",
        "ylabel": "images per second",
        "categories": ["naive", "prefetch", "interleave", "cache"],
        "series": {"from disk": [105.2, 151.9, 310.4, 512.0], "from memory": [405, 451, 510, 515]},
    },
    "bars-flat": {
        "kind": "bars",
        "horizontal": True,
        "xlabel": "milliseconds for a step",
        "categories": ["MirroredStrategy, eager", "MirroredStrategy in tf.function", "default strategy"],
        "series": {"time": [12.3, 4.1, 0.0123]},
    },
    "bars-that-lie-by-themselves": {
        "kind": "bars",
        "title": "Memory taken after one element",
        "xlabel": "what is held",
        "ylabel": "MiB",
        "categories": ["nothing", "prefetch of two batches", "a shuffle buffer of 1,000"],
        "series": {"time": [12.3, 4.1, 0.0123]},
    },
    "bars-stacked": {
        "kind": "bars",
        "title": "Memory on each device",
        "ylabel": "MiB",
        "stacked": True,
        "categories": ["1", "2", "4", "8"],
        "series": {
            "parameters": [400, 200, 100, 50],
            "gradients": [400, 200, 100, 50],
            "optimizer": [800, 400, 200, 100],
            "activations": [100, 100, 100, 100],
        },
    },
    "scatter": {
        "kind": "scatter",
        "xlabel": "predicted",
        "ylabel": "true",
        "series": {
            "training": {"x": [n / 10 for n in range(40)], "y": [n / 10 + math.sin(n * 7) / 3 for n in range(40)]},
            "held out": {"x": [n / 5 for n in range(20)], "y": [n / 5 + math.cos(n * 5) / 2 for n in range(20)]},
        },
    },
    "timeline": {
        "kind": "timeline",
        "title": "Four partitions, four micro-batches",
        "xlabel": "time, in units of one forward pass",
        "lanes": [f"device {n}" for n in range(4)],
        "spans": [
            {"lane": k, "start": float(k + m), "end": float(k + m + 1), "label": f"F{m}", "group": "forward"}
            for k in range(4)
            for m in range(4)
        ]
        + [
            {"lane": k, "start": 7.0 + 3 - k + m, "end": 8.0 + 3 - k + m, "label": f"B{3 - m}", "group": "backward"}
            for k in range(4)
            for m in range(4)
        ],
    },
    "matrix": {
        "kind": "matrix",
        "xlabel": "predicted",
        "ylabel": "true",
        "rows": ["cat", "dog", "horse", "frog"],
        "columns": ["cat", "dog", "horse", "frog"],
        "values": [[50, 3, 1, 0], [4, 44, 2, 1], [0, 2, 47, 2], [1, 0, 0, 49]],
    },
    "matrix-large": {
        "kind": "matrix",
        "title": "Attention",
        "rows": [str(n) for n in range(24)],
        "columns": [str(n) for n in range(24)],
        "values": [[round(math.exp(-abs(a - b) / 5), 3) for b in range(24)] for a in range(24)],
    },
    "grid": {
        "kind": "grid",
        "title": "Who holds which part of the batch",
        "rows": ["replica 0", "replica 1", "replica 2"],
        "columns": ["inside the scope", "outside the scope", "restored", "built late"],
        "text": [["ok", "raises", "ok", ""], ["ok", "ok", "wrong", ""], ["ok", "ok", "ok", "raises"]],
        "group": [
            ["trains", "raises", "trains", ""],
            ["trains", "trains", "silent", ""],
            ["trains", "trains", "trains", "raises"],
        ],
    },
    "field": {
        "kind": "field",
        "xlabel": "weight",
        "ylabel": "bias",
        "x": [n / 10 for n in range(-20, 21)],
        "y": [n / 10 for n in range(-15, 16)],
        "values": [[round((a / 10) ** 2 + 3 * (b / 10) ** 2, 4) for a in range(-20, 21)] for b in range(-15, 16)],
        "points": {"minimum": {"x": 0, "y": 0}},
        "paths": {
            "SGD": {"x": [-1.8 * 0.8**n for n in range(15)], "y": [1.3 * (-0.6) ** n for n in range(15)]},
            "Adam": {"x": [1.8 - n / 8 for n in range(15)], "y": [1.3 - n / 11 for n in range(15)]},
        },
    },
}
PICTURES["panels"] = {
    "kind": "panels",
    "title": "All at once",
    "columns": 2,
    "panels": [PICTURES["bars"], PICTURES["lines-log"], PICTURES["matrix"], PICTURES["scatter"]],
}
