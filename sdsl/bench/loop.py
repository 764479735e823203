"""Updates a second against a bare torch loop (nn.Module, torch.optim) that logs nothing, S=1."""

from pathlib import Path

import torch
from torch import nn

from sdsl.bench.rows import Row
from sdsl.bench.streams import drifting, setup_for
from sdsl.bench.timing import compare
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.experiment import one_thread

BATCH = 64


def measure(tiny: bool, out: Path) -> list[Row]:
    steps, repeats = (20, 1) if tiny else (400, 7)
    return [updates(optimizer, steps, repeats) for optimizer in ("sgd", "adam")]


def updates(optimizer: str, steps: int, repeats: int) -> Row:
    table = drifting(1)
    X, y = torch.from_numpy(table.X), torch.from_numpy(table.y)
    how = setup_for(
        f"learner.pretrain={{steps: {steps}, batch: {BATCH}, optimizer: {optimizer}}}"
    ).method.pretrain

    def ours() -> None:
        learner = Learner((2, 100, 100, 2), (0,))
        learner.fit(how, [Rows.full(X[None], y[None])], Draws((0,), "batches"))

    with one_thread():
        costs = compare({"ours": ours, "bare": lambda: bare(X, y, optimizer, steps)}, repeats)
    rate = {name: steps / cost.cpu for name, cost in costs.items()}
    ratio = rate["ours"] / rate["bare"]
    return Row(
        f"updates/s, {optimizer}, width 100, batch {BATCH}",
        f"{rate['ours']:,.0f} against {rate['bare']:,.0f} of a bare loop: {ratio:.2f}",
        "0.8 of it",
        ratio >= 0.8,
        {"cpu_ratio": ratio} | {k: vars(c) for k, c in costs.items()},
    )


def bare(X: torch.Tensor, y: torch.Tensor, optimizer: str, steps: int) -> None:
    """What one would write by hand."""
    net = nn.Sequential(
        nn.Linear(X.shape[1], 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 2)
    )
    update: torch.optim.Optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    if optimizer == "sgd":
        update = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for _ in range(steps):
        rows = torch.randint(len(X), (BATCH,))
        update.zero_grad()
        criterion(net(X[rows]), y[rows]).backward()
        update.step()
