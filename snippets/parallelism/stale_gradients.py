# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["numpy"]
#
# [tool.guide]
# seconds = 60
# ///
"""Descend with gradients that are some updates old, and find the largest learning rate that still converges."""

# --8<-- [start:descend]
import numpy as np

CURVATURES = np.array([1.0, 0.1])  # loss = (1.0 * a ** 2 + 0.1 * b ** 2) / 2


def descend(
    rate: float, staleness: int, momentum: float = 0.0, steps: int = 120
) -> list[float]:
    """Return the loss after each update, when every gradient was computed `staleness` updates before it is applied."""
    history = [np.array([1.0, 1.0])] * (staleness + 1)
    velocity, losses = np.zeros(2), []
    for _ in range(steps):
        read = history[-1 - staleness]  # the weights that the slow worker had read
        velocity = momentum * velocity - rate * CURVATURES * read
        history.append(history[-1] + velocity)
        losses.append(float((CURVATURES * history[-1] ** 2).sum() / 2))
        if losses[-1] > 1e30:
            break  # diverged
    return losses


curves = {
    staleness: descend(rate=0.8, staleness=staleness) for staleness in (0, 1, 2, 4)
}
for staleness, losses in curves.items():
    print(f"staleness {staleness}: loss after {len(losses)} updates {losses[-1]:.2e}")
# --8<-- [end:descend]


# --8<-- [start:limit]
def largest_rate(staleness: int, momentum: float = 0.0) -> float:
    """Return by bisection the largest rate for which the steepest direction still shrinks."""
    low, high = 0.0, 5.0
    for _ in range(20):
        rate = (low + high) / 2
        tail = descend(rate, staleness, momentum, steps=2000)[-1]
        low, high = (rate, high) if tail < 0.5 else (low, rate)
    return low


measured = {staleness: largest_rate(staleness) for staleness in curves}
theory = {d: 2 * np.cos(np.pi * d / (2 * d + 1)) / CURVATURES.max() for d in curves}
for staleness in curves:
    print(
        f"staleness {staleness}: largest rate {measured[staleness]:.3f}, formula {theory[staleness]:.3f}"
    )
# --8<-- [end:limit]

# --8<-- [start:momentum]
with_momentum = {}
for momentum in (0.0, 0.5, 0.9):
    fresh, stale = (largest_rate(staleness, momentum) for staleness in (0, 1))
    with_momentum[momentum] = fresh, stale
    print(f"momentum {momentum}: largest rate {fresh:.2f} fresh, {stale:.2f} stale")
# --8<-- [end:momentum]

final = {staleness: losses[-1] for staleness, losses in curves.items()}
claims = {
    "fresh_converges": final[0] < 1e-4,
    "stale_diverges_at_same_rate": final[4] > 1.0,
    "stale_converges_as_well_as_fresh": final[4] < 10 * final[0],
    "staleness_lowers_largest_rate": list(measured.values())
    == sorted(measured.values(), reverse=True),
    "staleness_leaves_largest_rate": abs(measured[4] - measured[0]) < 0.1,
    "limit_equals_formula": all(abs(measured[d] - theory[d]) < 0.02 for d in curves),
    "one_update_of_staleness_halves_the_rate": abs(measured[1] / measured[0] - 0.5)
    < 0.02,
    "little_staleness_can_help": final[1] < final[0],
    "momentum_limits_equal_formula": all(
        abs(fresh - 2 * (1 + momentum)) < 0.02 and abs(stale - (1 - momentum)) < 0.02
        for momentum, (fresh, stale) in with_momentum.items()
    ),
    "half_also_with_momentum": abs(with_momentum[0.9][1] / with_momentum[0.9][0] - 0.5)
    < 0.02,
}
measures = {
    "limit_fresh": round(measured[0], 2),
    "limit_stale_1": round(measured[1], 2),
}
measures |= {"limit_stale_4": round(measured[4], 2)}
measures |= {
    "momentum_fresh": round(with_momentum[0.9][0], 2),
    "momentum_stale": round(with_momentum[0.9][1], 2),
}
figures = {
    "loss_by_staleness": {
        "kind": "lines",
        "title": "The same learning rate, older gradients",
        "xlabel": "updates applied",
        "ylabel": "loss",
        "yscale": "log",
        "x": list(range(1, 121)),
        "series": {f"{d} updates old": losses for d, losses in curves.items()},
    }
}
