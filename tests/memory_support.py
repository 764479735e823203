"""A slow, plain version of the clusters of memory: one dict of NumPy numbers per cluster."""

import numpy as np
import torch

from sdsl.algorithms import memory, merging
from sdsl.algorithms.memory import Clusters, new_clusters

D = 3


def segments(seed=0, T=12, classes=2, n=40):
    """Clusters of T segments of two classes that drift apart, none merged yet."""
    g = torch.Generator().manual_seed(seed)
    found = Clusters.none(D)
    for t in range(T):
        Z = torch.randn(n, D, generator=g).double() * (1 + 0.1 * t)
        owner = torch.arange(n) % classes
        Z[owner == 1] += torch.tensor([3.0, 0.3 * t, -0.1 * t])
        r = torch.nn.functional.one_hot(owner, classes).double()
        found = found.joined(new_clusters(Z, r, torch.arange(classes), t))
    return found


def plain(c: Clusters) -> list[dict]:
    """One dict of NumPy numbers per cluster."""
    m, V, s = (a.numpy() for a in c.wide)
    n, tau, v = (a.numpy() for a in (c.n, c.tau, c.v))
    return [
        {"c": int(c.owner[k]), "n": n[k], "tau": tau[k], "v": v[k], "m": m[k], "V": V[k], "s": s[k]}
        for k in range(len(c))
    ]


def slow_merge(a: dict, b: dict) -> dict:
    """By raw second moments of (x, t)."""
    n = a["n"] + b["n"]
    mean = {k: (a["n"] * a[k] + b["n"] * b[k]) / n for k in ("m", "tau")}

    def raw(f):
        return (a["n"] * f(a) + b["n"] * f(b)) / n

    return {
        "c": a["c"],
        "n": n,
        **mean,
        "v": raw(lambda k: k["v"] + k["tau"] ** 2) - mean["tau"] ** 2,
        "V": raw(lambda k: k["V"] + k["m"] ** 2) - mean["m"] ** 2,
        "s": raw(lambda k: k["s"] + k["m"] * k["tau"]) - mean["m"] * mean["tau"],
    }


def slow_rest(k: dict) -> np.ndarray:
    return np.maximum(k["V"] - (k["s"] ** 2 / k["v"] if k["v"] else 0), memory.FLOOR)


def slow_evidence(k: dict) -> float:
    time = merging.TIME * np.log(k["v"] + memory.WITHIN)
    return 0.5 * k["n"] * (np.log(slow_rest(k)).sum() + time)
