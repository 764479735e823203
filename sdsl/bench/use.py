"""A model in use, one seed: fit, adapt, predict, save, load, beside learners that go row by row.

river and CapyMOA are asked for each row's label and then given the true one; ours is given none.
All see the same rows; ratios are of CPU time per row.
"""

import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sdsl.bench import peers
from sdsl.bench.rows import Row
from sdsl.bench.streams import drifting
from sdsl.bench.timing import Cost, Stopwatch, median
from sdsl.estimator import StreamClassifier

install = peers.install  # the same environment
METHODS = ("tracker", "ours")
PEERS = {"river 0.26.1": "river", "CapyMOA 0.15.1": "capymoa"}
STEPS, ROWS = 20, 1000  # segments after gold, and rows of each
WHAT = {  # operation -> how often a step or a thousand rows needs it
    "fit": "gold and the first segment, once",
    "adapt": "a segment of 1,000 rows",
    "predict": "1,000 rows",
    "save": "a file",
    "load": "a file",
}


def measure(tiny: bool, out: Path) -> list[Row]:
    logging.getLogger("sdsl.use").setLevel(logging.ERROR)  # alarms are not what is measured
    steps, rows, repeats = (2, 60, 1) if tiny else (STEPS, ROWS, 3)
    table = drifting(steps, rows)
    X, y = (np.split(part, steps + 1) for part in (table.X, table.y))
    costs: dict[str, dict[str, list[Cost]]] = {m: {name: [] for name in WHAT} for m in METHODS}
    accuracy: dict[str, float] = {}
    theirs: dict[str, Mapping[str, Mapping[str, float]]] = {}
    absent: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.npz")
        np.savez(file, X=table.X, y=table.y)
        for method in METHODS:  # imports and first uses count for nobody
            lived(method, X[:2], y[:2], Path(folder))
        # Ours around every peer, so that all meet the same noise.
        for name, which in PEERS.items():
            for method in METHODS:
                for _ in range(repeats):
                    took, accuracy[method] = lived(method, X, y, Path(folder))
                    for what, found in took.items():
                        costs[method][what].append(found)
            found_there = peers.worker(str(peers.python(out)), which, file, "incremental.py")
            if isinstance(found_there, str):
                absent[name] = found_there
            else:
                theirs[name] = found_there
    mine = {m: {what: median(all_) for what, all_ in of.items()} for m, of in costs.items()}
    result = [row for m in METHODS for row in _ours(m, mine[m], rows, accuracy[m])]
    for name, classifiers in theirs.items():
        for classifier, cost in classifiers.items():
            result.append(_theirs(name, classifier, cost, mine, rows))
    return result + [Row(f"{name}", f"skipped: {why}") for name, why in absent.items()]


def lived(
    method: str, X: list[np.ndarray], y: list[np.ndarray], folder: Path
) -> tuple[dict[str, Cost], float]:
    """What each operation took, the mean over the steps; and how many labels were right."""
    file, took, right = folder / f"{method}.sdsl", {}, []
    with Stopwatch() as watch:  # training waits for the first segment, which adapt brings
        model = StreamClassifier(method).fit(X[0], y[0])
        right.append(np.mean(model.adapt(X[1]) == y[1]))
    took["fit"] = watch.cost
    adapts, predicts = [], []
    for rows, labels in zip(X[2:] or X[1:], y[2:] or y[1:], strict=True):
        with Stopwatch() as watch:
            right.append(np.mean(model.adapt(rows) == labels))
        adapts.append(watch.cost)
        with Stopwatch() as watch:
            model.predict(rows)
        predicts.append(watch.cost)
    took |= {"adapt": mean(adapts), "predict": mean(predicts)}
    with Stopwatch() as watch:
        model.save(file)
    took["save"] = watch.cost
    with Stopwatch() as watch:
        StreamClassifier.load(file)
    took["load"] = watch.cost
    return took, float(np.mean(right))


def mean(costs: list[Cost]) -> Cost:
    """Of the steps of one life: a single one is too short for the clock of CPU time."""
    return Cost(
        sum(cost.cpu for cost in costs) / len(costs), sum(cost.wall for cost in costs) / len(costs)
    )


def _ours(method: str, mine: dict[str, Cost], rows: int, accuracy: float) -> list[Row]:
    found = []
    for what, cost in mine.items():
        text = f"{1e3 * cost.cpu:.1f} ms CPU ({1e3 * cost.wall:.1f} ms wall)"
        if what in ("fit", "adapt", "predict"):
            text += f", {1e6 * cost.cpu / rows:.1f} ms per 1,000 rows"
        if what == "adapt":
            text += f"; {100 * accuracy:.1f} % of labels right"
        found.append(Row(f"{method}, {what}: {WHAT[what]}", text, raw=vars(cost) | {"rows": rows}))
    return found


def _theirs(
    name: str,
    classifier: str,
    cost: Mapping[str, float],
    mine: dict[str, dict[str, Cost]],
    rows: int,
) -> Row:
    per_row = cost["cpu"] / cost["rows"]
    ratios = {m: per_row / (mine[m]["adapt"].cpu / rows) for m in mine}
    against = ", ".join(f"{ratio:.2f} of `{m}`" for m, ratio in ratios.items())
    return Row(
        f"{name}, {classifier}: predict and learn, true labels given",
        f"{1e6 * per_row:.1f} ms CPU per 1,000 rows: {against} (adapt); "
        f"{100 * cost['accuracy']:.1f} % of labels right",
        raw={**cost, **{f"ratio_{m}": ratio for m, ratio in ratios.items()}},
    )
