"""Made-up results: no number here comes from a run, and none is meant to look like one."""

import numpy as np
import pandas as pd

from sdsl.core import metrics
from sdsl.report.runs.names import DATASETS, PAPER_METHODS, PAPER_VARIANTS, STATIC_BOUND
from sdsl.report.runs.results import Results

LEVEL = {"st": 0.5, "jt": 0.9, "pl_conf": 0.6, "dann": 0.55, "eaml": 0.52, "record": 0.7}
LEVEL |= {"ours": 0.8, "ours_record": 0.75, "ours_pl": 0.7, "ours_wo_ils": 0.78, "ours_wo_fr": 0.76}
LEVEL |= {STATIC_BOUND: 0.92}
SCRIPT = "<script>document.title='owned'</script>"
METHODS = (*PAPER_METHODS, *PAPER_VARIANTS, STATIC_BOUND)


def matrix(level: float, T: int, q: int, rng: np.random.Generator) -> np.ndarray:
    """Lower off the diagonal, so that there is forgetting; every cell is k / q."""
    i, j = np.mgrid[:T, :T]
    share = level + 0.06 * np.sin(i / T * 7) - 0.15 * np.abs(i - j) / T
    return rng.binomial(q, np.clip(share, 0.02, 0.98)) / q


def results(
    methods=METHODS,
    datasets=tuple(DATASETS),
    seeds=5,
    T=8,
    q=40,
    prefix="literal",
    context=(),
    **columns,
) -> Results:
    """Runs of every method on every dataset, those in `context` also tested in context.

    `columns` replaces columns of the frame.
    """
    rows, R, R_context = [], {}, {}
    curves = {"pseudo_label_acc": {}, "flatness_one_sided": {}, "flatness_symmetric": {}}
    for d, dataset in enumerate(datasets):
        for m, method in enumerate(methods):
            for seed in range(seeds):
                rng = np.random.default_rng([d, m, seed])
                run = f"{prefix[0]}{d}{m:02}{seed}" + "0" * 27
                level = LEVEL.get(method, 0.6)
                R[run] = np.tile(matrix(level, 1, q, rng)[0], (T, T))
                if method not in ("st", STATIC_BOUND):
                    R[run] = matrix(level, T, q, rng)
                if method.startswith(("ours", "record")):
                    curves["pseudo_label_acc"][run] = np.clip(rng.normal(level, 0.02, T), 0, 1)
                    drop = np.linspace(0, 0.3, 7) ** 2 * (1 if method == "ours" else 4)
                    curves["flatness_one_sided"][run] = level - drop
                    curves["flatness_symmetric"][run] = level - drop / 2
                numbers = metrics.summarise(np.vstack([R[run][:1], R[run]])).as_dict()
                if method in context:
                    R_context[run] = matrix(0.9, T, q, rng)
                    both = np.vstack([R_context[run][:1], R_context[run]])
                    numbers |= metrics.summarise_context(both)
                rows.append(_row(run, method, dataset, seed, prefix, T, q, numbers))
    frame = pd.DataFrame(rows).set_index("run_id").assign(**columns)
    frame = frame.sort_values(["prefix", "stream", "variant", "probe", "seed"])
    return Results(frame, R, curves, ("3 short runs are left out",), "", R_context)


def _row(run, method, dataset, seed, prefix, T, q, numbers) -> dict:
    return {
        "run_id": run,
        "variant": method,
        "stream": dataset,
        "prefix": prefix,
        "short": "",
        "probe": "none",
        "dataset": dataset,
        "seed": seed,
        "method": method,
        "labeler": "robust",
        "replay": "flat_region",
        "group_key": "a" * 64,
        "code_sha256": "b" * 64,
        "git_sha": "c" * 40,
        "dirty": "false",
        "data_sha256": "d" * 64,
        "data_source": "made up by a test",
        "data_standing": "own",
        "stream_sha256": "e" * 64,
        "config_sha256": "f" * 64,
        "started": 1_700_000_000_000 + seed,
        "test_rows": q,
        "bounds": "[0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]",
        "rows": 200.0 * (T + 1),
        "features": 2.0,
        "classes": 2.0,
        **numbers,
        "lasting_swap": float(seed == 0 and method == "pl_conf"),
        "pseudo_label_acc_mean": LEVEL.get(method, 0.6) if method.startswith("ours") else np.nan,
        "T": T,
    }
