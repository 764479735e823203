"""One peer on one stream, run by the peers' own Python: peer.py avalanche|capymoa|bare FILE

Prints what training and evaluation took of CPU and wall, and Acc_t. It knows nothing of sdsl.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

BATCH, STORED, LR, MOMENTUM = 64, 100, 0.01, 0.9
KEPT: list = []  # a library of operators lives as long as somebody holds it


def net(d: int, classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(d, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, classes)
    )


def optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)


def allow_torchvision() -> None:
    """Both peers import torchvision, nothing here calls it; its kernels may not load (no CUDA)."""
    found = importlib.util.find_spec("torchvision")
    if found is None:
        return
    try:
        torch.ops.load_library(str(Path(found.origin).with_name("_C.so")))
    except OSError:
        for name in ("nms", "qnms"):  # it describes these two without asking whether they exist
            signature = f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            KEPT.append(torch.library.Library("torchvision", "FRAGMENT"))
            KEPT[-1].define(signature)


def bare(X, y, X_test, y_test, classes: int):
    """By hand: a random buffer, one pass a segment, every test part after it."""
    model, criterion = net(X.shape[2], classes), nn.CrossEntropyLoss()
    update = optimizer(model)

    def run() -> np.ndarray:
        R = np.zeros((len(X), len(X)))
        buffer_X, buffer_y = X[0, :0], y[0, :0]
        for t in range(len(X)):
            order = torch.randperm(len(X[t]))
            for part in order.split(BATCH):
                x, target = X[t, part], y[t, part]
                if len(buffer_y):
                    again = torch.randint(len(buffer_y), (BATCH,))
                    x = torch.cat([x, buffer_X[again]])
                    target = torch.cat([target, buffer_y[again]])
                update.zero_grad()
                criterion(model(x), target).backward()
                update.step()
            buffer_X, buffer_y = X[t, order[:STORED]], y[t, order[:STORED]]
            with torch.no_grad():
                for j in range(len(X)):
                    R[t, j] = (model(X_test[j]).argmax(1) == y_test[j]).float().mean()
        return R

    return run


def avalanche(X, y, X_test, y_test, classes: int):
    """Its Replay strategy, accuracy of every experience, no logger."""
    from avalanche.benchmarks.scenarios.dataset_scenario import benchmark_from_datasets
    from avalanche.benchmarks.utils import as_classification_dataset
    from avalanche.evaluation.metrics import accuracy_metrics
    from avalanche.training import Replay
    from avalanche.training.plugins import EvaluationPlugin
    from torch.utils.data import TensorDataset

    def experiences(X, y):
        for x, target in zip(X, y, strict=True):
            data = TensorDataset(x, target)
            data.targets = target.tolist()
            yield as_classification_dataset(data)

    benchmark = benchmark_from_datasets(
        train=list(experiences(X, y)), test=list(experiences(X_test, y_test))
    )
    model = net(X.shape[2], classes)
    strategy = Replay(
        model=model,
        optimizer=optimizer(model),
        criterion=nn.CrossEntropyLoss(),
        mem_size=STORED,
        train_mb_size=BATCH,
        train_epochs=1,
        eval_mb_size=X_test.shape[1],
        evaluator=EvaluationPlugin(accuracy_metrics(experience=True), loggers=[]),
    )

    def run() -> np.ndarray:
        R = []
        for experience in benchmark.streams["train"]:
            strategy.train(experience)
            found = strategy.eval(benchmark.streams["test"])
            R.append([found[key] for key in sorted(found) if key.startswith("Top1_Acc_Exp")])
        return np.array(R)

    return run


def capymoa(X, y, X_test, y_test, classes: int):
    """Its ExperienceReplay in its own train and evaluation loop, on its preloaded datasets."""
    from capymoa.classifier import Finetune
    from capymoa.ocl.datasets._base import _PreloadedDataset
    from capymoa.ocl.evaluation import ocl_train_eval_loop
    from capymoa.ocl.strategy import ExperienceReplay
    from capymoa.stream import Schema
    from torch.utils.data import DataLoader

    def loaders(X, y, batch: int):
        tasks = [_PreloadedDataset(x, target) for x, target in zip(X, y, strict=True)]
        return [DataLoader(task, batch_size=batch, collate_fn=task.collate_fn) for task in tasks]

    names = [f"x{i}" for i in range(X.shape[2])]
    labels = {"class": [str(c) for c in range(classes)]}
    schema = Schema.from_custom([*names, "class"], "class", labels)
    model = net(X.shape[2], classes)
    learner = ExperienceReplay(Finetune(schema, model, optimizer(model)), buffer_size=STORED)

    def run() -> np.ndarray:
        found = ocl_train_eval_loop(
            learner, loaders(X, y, BATCH), loaders(X_test, y_test, X_test.shape[1])
        )
        return found.accuracy_matrix

    return run


def main() -> None:
    which, file = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with np.load(file) as arrays:
        parts = [torch.from_numpy(arrays[name]) for name in ("X", "y", "X_test", "y_test")]
    if which != "bare":
        allow_torchvision()
    prepare = {"bare": bare, "avalanche": avalanche, "capymoa": capymoa}[which]
    run = prepare(*parts, int(parts[1].max()) + 1)  # imports and the Java machine's start are here
    cpu, wall = time.process_time(), time.perf_counter()
    R = run()
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    assert R.shape == (len(parts[0]), len(parts[0])), R.shape
    print(json.dumps(found | {"acc_online": float(np.mean(np.diagonal(R)))}))


if __name__ == "__main__":
    main()
