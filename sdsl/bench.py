"""Measure speed: python -m sdsl.bench [methods] [growth] [peers]; none means these three.

python -m sdsl.bench alarms measures what the alarms and the estimated accuracy are worth.

Every time is CPU time, the median of repetitions in turn; only ratios within one call mean much.
The peers (Avalanche, CapyMOA, river) need an environment of their own, made by --install; this file
is also the program that they run in it, so it imports sdsl only inside functions.
"""

import argparse
import json
import multiprocessing
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

PEERS = Path("outputs/bench/peers")  # their environment
# Without their own requirements: torch stays the one that is measured, and no CUDA comes along.
NO_DEPS = ["avalanche-lib==0.6.0", "capymoa==0.15.1", "torchvision==0.28.0"]
NEEDED = "torch==2.13.0 river==0.26.1 numpy<2.5 pandas<3 scipy scikit-learn matplotlib deprecated"
NEEDED += " dill gdown gputil jpype1 pillow psutil pytorchcv qpsolvers seaborn setuptools<81"
NEEDED += " tensorboard torchmetrics tqdm wandb"
SHORT = ("learner.pretrain.steps=10", "eval.every=1000")
BATCH, STORED, LR, MOMENTUM = 64, 100, 0.01, 0.9  # of the replay loop that the peers run, too
Row = tuple[str, str, str]  # part, subject, result in words
Runs = dict[str, Callable[[], None]]  # of a peer, by name


def drifting(T: int, rows: int = 1000) -> Any:
    """Two Gaussian classes on a circle that turns once: gold and T segments of `rows` rows."""
    from sdsl.core.rows import Table

    rng = np.random.default_rng(0)
    y = np.tile(np.arange(2), (T + 1) * rows // 2 + 1)[: (T + 1) * rows]
    angle = 2 * np.pi * (y / 2 + np.linspace(0, 1, len(y)))
    X = rng.normal(0, 1, (len(y), 2)).astype(np.float32)
    X += 3 * np.c_[np.cos(angle), np.sin(angle)]
    return Table("drifting", X, y, ("0", "1"), "made by sdsl.bench", "own", "0" * 64)


def cpu(run: Callable[[], Any], repeats: int = 1) -> float:
    """CPU seconds of a call, the median."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return statistics.median(found)


def segments(method: str, dataset: str, T: int, table: Any = None, *words: str) -> list[float]:
    """CPU seconds of each step of labelling and learning, without evaluation."""
    from sdsl import experiment
    from sdsl.config import composed, setup
    from sdsl.core.adaptation import Adaptation

    made = setup(composed(f"method={method}", f"dataset={dataset}", *SHORT, *words))
    stream = experiment.cut(made, table or experiment.load(made), seed=10)
    gold, learner = stream.gold(), experiment.learner(made, stream)
    adapting = Adaptation(made.method, learner, gold, made.stream.scaler, stream.seed)
    given = [(stream.segment(t), stream.truth(t)) for t in range(1, stream.T + 1)]
    with experiment.one_thread():
        adapting.begin(stream.segment(1), given)
        return [cpu(partial(adapting.step, *one)) for one in given[:T]]


def methods(names: list[str]) -> Iterator[Row]:
    """The median step of every method on the eight streams."""
    from sdsl.config.compose import home

    files = [(home() / "conf" / group).glob("*.yaml") for group in ("dataset", "method")]
    streams, every = (sorted(file.stem for file in found) for found in files)
    names = names or every
    ms: dict[str, list[float]] = {name: [] for name in names}
    for stream in streams:  # methods in turn, so that they meet the same noise
        for name in names:
            ms[name].append(1000 * statistics.median(segments(name, stream, 10)))
    base = statistics.mean(ms["ours"]) if "ours" in ms else 0.0
    for name, found in ms.items():
        ratio = f", {statistics.mean(found) / base:.2f} of ours" if base else ""
        by_stream = ", ".join(f"{s} {v:.1f}" for s, v in zip(streams, found, strict=True))
        yield "methods", name, f"{statistics.mean(found):.1f} ms a segment{ratio} ({by_stream})"


def growth(names: list[str]) -> Iterator[Row]:
    """Time and memory against the length of the stream and the size of a segment."""
    for name in names or ["tracker", "ours"]:
        for T, rows in ((100, 200), (1000, 200), (10, 1_000), (10, 10_000), (10, 100_000)):
            with multiprocessing.get_context("fork").Pool(1) as pool:  # its peak memory is its own
                ms, late, mb = pool.apply(grown, (name, T, rows))
            text = f"{ms:.1f} ms a segment, {late:.2f} late against early, {mb:.0f} MB more"
            yield "growth", f"{name}, T={T}, {rows:,} rows a segment", text


def grown(name: str, T: int, rows: int) -> tuple[float, float, float]:
    """(median ms of a step, late over early steps, growth of the peak memory in MB)"""
    from sdsl import experiment  # noqa: F401  its imports are not counted

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sizes = f"dataset.segment_size={rows}", f"dataset.test_size={max(1, rows // 100)}"
    steps = segments(name, "own/table", T, drifting(T, rows), "dataset.name=drifting", *sizes)
    tenth = max(1, len(steps) // 10)
    late = statistics.median(steps[-tenth:]) / statistics.median(steps[tenth : 2 * tenth])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 1000 * statistics.median(steps), late, (peak - before) / 1024


CLOUDS = ("path", "shapes dataset.turn=6", "shapes dataset.cross=2", "shapes dataset.wander=4")
WELL, WRONG = (-0.05, np.inf), (-np.inf, -0.1)  # accuracy of a segment - gold's cross-validated one


def alarms(names: list[str]) -> Iterator[Row]:
    """How often alarms are raised in segments that go well and wrong; errors of the estimate."""
    from sdsl.config.compose import home

    tables = sorted(file.stem for file in (home() / "conf/dataset/dev").glob("table_*.yaml"))
    streams = [(stream, seed) for stream in (*tables, *CLOUDS) for seed in (10, 11)]
    for name in names or ["steady"]:
        found = [(stream, *one) for stream, seed in streams for one in told(name, stream, seed)]
        for kind in dict.fromkeys(kind for *_, kinds in found for kind in kinds):
            parts = [[kind in k for _, f, _, k in found if w[0] <= f < w[1]] for w in (WELL, WRONG)]
            well, wrong = (f"{np.mean(part):.3f} of {len(part)}" for part in parts)
            yield "alarms", f"{name}: {kind}", f"{well} well, {wrong} wrong"
        off = np.array([error for stream, _, error, _ in found if stream in tables])
        low, high = np.quantile(off, [0.05, 0.95])
        text = f"{low:.3f} to {high:.3f}, mean size {np.abs(off).mean():.3f}"
        yield "alarms", f"{name}: accuracy - estimate, {len(off)} segments of tables", text


def told(method: str, stream: str, seed: int) -> Iterator[tuple[float, float, set[str]]]:
    """Of each segment: accuracy - gold's, accuracy - estimate, kinds of alarms."""
    from sdsl import experiment
    from sdsl.config import composed, setup
    from sdsl.use.follower import Follower

    seeded = f"dataset.{re.split('[_ ]', stream)[0]}_seed={seed}"
    made = setup(composed(f"method={method}", *f"dataset=dev/{stream}".split(), seeded))
    cut = experiment.cut(made, experiment.load(made), seed)
    X, y = cut.gold().X.numpy(), cut.gold().y.numpy()
    follower = Follower(made.config, X, y, np.arange(cut.C), seed)
    for t in range(1, cut.T + 1):
        labels, _ = follower.step(cut.segment(t).numpy())
        record, right = follower.records[-1], float((labels == cut.truth(t).numpy()).mean())
        kinds = {re.sub(r"[\d.%]+", "#", text) for text in record["warnings"].split("; ") if text}
        estimate = record.get("estimated_accuracy", np.nan)
        yield right - follower.expected, right - estimate, kinds


# Peers: a replay loop with true labels, 64 new and 64 stored rows an update, 100 rows stored, every
# test part after every segment; and classifiers that predict and then learn row by row.


def peers(names: list[str]) -> Iterator[Row]:
    """Ratios of CPU time to ours on the same stream, the same network and the same R."""
    from sdsl import experiment
    from sdsl.config import composed, setup

    table = drifting(100)
    words = ["dataset=own/table", "dataset.name=drifting", "dataset.segment_size=1000"]
    words += ["dataset.test_size=300", "method=oracle_labels", "replay=retrain", "replay.gold=0"]
    words += ["lookback.select=random", "learner.pretrain.steps=11", "replay.fit.steps=11"]
    made = setup(composed(*words))
    experiment.run(made, 10, table)  # compiles
    mine = cpu(lambda: experiment.run(made, 10, table), 3)
    yield "peers", "sdsl: train, replay, R of 100 x 100", f"{mine:.1f} s"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "stream.npz")
        np.savez(file, X=table.X.reshape(101, 1000, 2), y=table.y.reshape(101, 1000))
        for which in ("bare", "avalanche", "capymoa", "river"):
            python = sys.executable if which == "bare" else str(PEERS / "bin/python")
            if not Path(python).exists():
                yield "peers", which, "not installed: python -m sdsl.bench peers --install"
                continue
            command = [python, "-P", __file__, "--peer", which, str(file)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                yield "peers", which, (done.stderr.strip().splitlines() or ["failed"])[-1]
                continue
            for name, seconds in json.loads(done.stdout.splitlines()[-1]).items():
                yield "peers", name, f"{seconds:.1f} s: {seconds / mine:.1f} times ours"


def install() -> None:
    """The peers' environment, some hundred megabytes."""
    venv.create(PEERS, with_pip=True)
    pip = [str(PEERS / "bin/python"), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, *NEEDED.split()], check=True)
    subprocess.run([*pip, "--no-deps", *NO_DEPS], check=True)


def peer(which: str, file: str) -> None:
    """Run by the peers' Python: prints CPU seconds by name as JSON."""
    with np.load(file) as arrays:
        made = {"bare": bare, "avalanche": avalanche, "river": river, "capymoa": capymoa}
        runs = made[which](arrays["X"], arrays["y"])
    print(json.dumps({f"{which}: {name}": cpu(run) for name, run in runs.items()}))


def net(d: int) -> Any:
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [nn.Linear(d, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 2)]
    return nn.Sequential(*layers)


def bare(X: np.ndarray, y: np.ndarray) -> Runs:
    """The loop by hand in torch; 300 rows of each segment test."""
    import torch

    inputs, labels = torch.tensor(X[1:]), torch.tensor(y[1:])
    model, loss = net(X.shape[2]), torch.nn.CrossEntropyLoss()
    update = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)

    def run() -> None:
        stored: tuple[Any, Any] | None = None
        for segment, truth in zip(inputs, labels, strict=True):
            order = 300 + torch.randperm(len(segment) - 300)
            for part in order.split(BATCH):
                x, target = segment[part], truth[part]
                if stored:
                    again = torch.randint(STORED, (BATCH,))
                    x = torch.cat([x, stored[0][again]])
                    target = torch.cat([target, stored[1][again]])
                update.zero_grad()
                loss(model(x), target).backward()
                update.step()
            stored = segment[order[:STORED]], truth[order[:STORED]]
            with torch.no_grad():
                for x, target in zip(inputs[:, :300], labels[:, :300], strict=True):
                    float((model(x).argmax(1) == target).float().mean())

    return {"the same loop": run}


def avalanche(X: np.ndarray, y: np.ndarray) -> Runs:
    """Its Replay strategy, accuracy of every experience, no logger."""
    import torch
    from avalanche.benchmarks.scenarios.dataset_scenario import benchmark_from_datasets
    from avalanche.benchmarks.utils import as_classification_dataset
    from avalanche.evaluation.metrics import accuracy_metrics
    from avalanche.training import Replay
    from avalanche.training.plugins import EvaluationPlugin
    from torch.utils.data import TensorDataset

    def experiences(rows: slice) -> list[Any]:
        pairs = zip(torch.tensor(X[1:, rows]), torch.tensor(y[1:, rows]), strict=True)
        made: list[Any] = [TensorDataset(*pair) for pair in pairs]
        for data in made:
            data.targets = data.tensors[1].tolist()
        return [as_classification_dataset(data) for data in made]

    model, parts = net(X.shape[2]), (experiences(slice(300, None)), experiences(slice(300)))
    streams = benchmark_from_datasets(train=parts[0], test=parts[1]).streams
    strategy = Replay(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM),
        criterion=torch.nn.CrossEntropyLoss(),
        mem_size=STORED,
        train_mb_size=BATCH,
        eval_mb_size=300,
        evaluator=EvaluationPlugin(accuracy_metrics(experience=True), loggers=[]),
    )

    def run() -> None:
        for experience in streams["train"]:
            strategy.train(experience)
            strategy.eval(streams["test"])

    return {"the same loop": run}


def river(X: np.ndarray, y: np.ndarray) -> Runs:
    from river import forest, naive_bayes, tree

    def run(model: Any) -> None:
        for row, label in zip(X.reshape(-1, X.shape[2]).tolist(), y.ravel().tolist(), strict=True):
            x = dict(enumerate(row))
            model.predict_one(x)
            model.learn_one(x, label)

    made = {"naive Bayes": naive_bayes.GaussianNB(), "tree": tree.HoeffdingTreeClassifier()}
    made["forest"] = forest.ARFClassifier(seed=0)
    return {f"{name}, row by row": partial(run, model) for name, model in made.items()}


def capymoa(X: np.ndarray, y: np.ndarray) -> Runs:
    from capymoa.classifier import AdaptiveRandomForestClassifier, HoeffdingTree, NaiveBayes
    from capymoa.stream import NumpyStream

    def run(make: Any) -> None:
        rows = X.reshape(-1, X.shape[2]).astype(float)
        stream = NumpyStream(rows, y.ravel(), target_type="categorical")
        model = make(schema=stream.get_schema())
        while stream.has_more_instances():
            instance = stream.next_instance()
            model.predict(instance)
            model.train(instance)

    made = {"naive Bayes": NaiveBayes, "tree": HoeffdingTree}
    made["forest"] = AdaptiveRandomForestClassifier
    return {f"{name}, row by row": partial(run, make) for name, make in made.items()}


SPEED = {"methods": methods, "growth": growth, "peers": peers}
PARTS = SPEED | {"alarms": alarms}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sdsl.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", choices=[*PARTS, []])
    parser.add_argument("--of", nargs="*", default=[], metavar="METHOD", help="only these methods")
    parser.add_argument("--install", action="store_true", help="first make the peers' environment")
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return peer(*args.peer)
    if args.install:
        install()
    for part in args.parts or SPEED:
        for row in PARTS[part](args.of):
            print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
