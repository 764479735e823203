"""Classifiers that learn row by row, in the peers' own Python: incremental.py river|capymoa FILE

Each is asked for the label of a row and is then given the true one. Prints what that took, per
classifier: CPU and wall seconds, rows, accuracy. It knows nothing of sdsl.
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np


def river(classes: int) -> dict[str, Callable]:
    """name -> function of X [n, d] and y [n] that gives the predictions made before learning."""
    from river import forest, naive_bayes, tree

    def runner(make: Callable) -> Callable:
        def run(X: np.ndarray, y: np.ndarray) -> list:
            model, found = make(), []
            for row, label in zip(X.tolist(), y.tolist(), strict=True):
                x = dict(enumerate(row))
                found.append(model.predict_one(x))
                model.learn_one(x, label)
            return found

        return run

    return {
        "naive Bayes": runner(naive_bayes.GaussianNB),
        "Hoeffding tree": runner(tree.HoeffdingTreeClassifier),
        "adaptive random forest": runner(lambda: forest.ARFClassifier(seed=0)),
    }


def capymoa(classes: int) -> dict[str, Callable]:
    """As CapyMOA's own loop does it: instances of a stream of arrays."""
    from capymoa.classifier import AdaptiveRandomForestClassifier, HoeffdingTree, NaiveBayes
    from capymoa.stream import NumpyStream

    def runner(make: Callable) -> Callable:
        def run(X: np.ndarray, y: np.ndarray) -> list:
            stream, found = NumpyStream(X, y, target_type="categorical"), []
            model = make(schema=stream.get_schema())
            while stream.has_more_instances():
                instance = stream.next_instance()
                found.append(model.predict(instance))
                model.train(instance)
            return found

        return run

    return {
        "naive Bayes": runner(NaiveBayes),
        "Hoeffding tree": runner(HoeffdingTree),
        "adaptive random forest": runner(AdaptiveRandomForestClassifier),
    }


def main() -> None:
    which, file = sys.argv[1:]
    with np.load(file) as arrays:
        X, y = arrays["X"].astype(np.float64), arrays["y"]
    found = {}
    for name, run in {"river": river, "capymoa": capymoa}[which](int(y.max()) + 1).items():
        run(X[:200], y[:200])  # what is loaded or compiled at first use
        cpu, wall = time.process_time(), time.perf_counter()
        labels = run(X, y)
        cost = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        right = np.mean([a is not None and int(a) == b for a, b in zip(labels, y, strict=True)])
        found[name] = cost | {"rows": len(y), "accuracy": float(right)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
