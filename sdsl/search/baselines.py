"""What is tried for baselines that came without values for such streams: as much as for `ours`."""

from collections.abc import Sequence


def one_by_one(*settings: tuple[str, Sequence[float | str]]) -> dict[str, str]:
    """(setting, values) -> variants, each of them one setting at one other value."""
    words = [f"{setting}={value}" for setting, values in settings for value in values]
    return {word: word for word in words}


COTTA = one_by_one(
    ("replay.steps", (10, 25, 100, 200)),
    ("replay.batch", (32, 128)),
    ("replay.lr", (0.0001, 0.0003, 0.003, 0.01)),
    ("replay.ema", (0.9, 0.99, 0.9999)),
    ("replay.restore", (0, 0.001, 0.1)),
    ("replay.views", (4, 8)),
    ("replay.noise", (0.03, 0.3, 1)),
    ("replay.sure", (0, 0.8)),
    ("replay.batch_norm", ("false",)),
    ("stream.scaler", ("per_step",)),
)
SAR = one_by_one(
    ("replay.steps", (10, 50, 100, 200)),
    ("replay.batch", (32, 128)),
    ("replay.lr", (0.0001, 0.0003, 0.003, 0.01, 0.03)),
    ("replay.rho", (0, 0.02, 0.1, 0.2)),
    ("replay.gate", (0.1, 0.2, 0.6, 0.8)),
    ("replay.reset", (0, 0.1, 0.289)),
    ("replay.adapt", ("affine", "all")),
    ("stream.scaler", ("per_step",)),
)
GST = one_by_one(
    ("replay.epochs", (2, 5, 20, 40)),
    ("replay.batch", (16, 64, 128)),
    ("replay.lr", (0.0001, 0.0003, 0.003, 0.01)),
    ("replay.dropout", (0, 0.2, 0.35, 0.7)),
    ("replay.l2", (0.0001, 0.001, 0.01)),
    ("labeler.drop", (0, 0.05, 0.2, 0.3, 0.5, 0.7)),
    ("stream.scaler", ("running",)),
)
DANN = one_by_one(
    ("replay.steps", (50, 100, 400, 800)),
    ("replay.batch", (16, 64, 128)),
    ("replay.lr", (0.001, 0.003, 0.03, 0.1)),
    ("replay.momentum", (0, 0.5)),
    ("replay.strength", (0, 0.1, 0.3, 0.5, 2, 5)),
    ("replay.width", (30, 300)),
    ("lookback.size", (20, 50)),
    ("learner.pretrain.steps", (2000,)),
    ("stream.scaler", ("running",)),
)
# What a search started from, where its outcome has replaced it in conf/.
STARTED = {"dann": "replay.steps=200"}
