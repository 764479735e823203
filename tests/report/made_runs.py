"""Runs of made-up accuracies, without a store."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from sdsl.report.runs import Runs

BOUNDS = [0.0, 0.05, 0.1]  # of the noise
TEXTS = {"standing": "original", "data_source": "file", "data_sha256": "d" * 64, "dirty": "false"}
TEXTS |= {"code_sha256": "c" * 64, "git_sha": "9" * 40}


def made(stream="spam", setting="", probe="none", T=2, **methods: Sequence[float]) -> Runs:
    """Runs with the same accuracy everywhere in R: made(ours=[0.9, 0.8], st=[0.5]), by seed."""
    rows, R = [], {}
    for method, values in methods.items():
        group = f"{method}{stream}{setting}{probe}"
        for seed, value in enumerate(values):
            names = dict(variant=method, stream=stream, setting=setting, probe=probe, seed=seed)
            shown = dict(method=method, dataset=stream, group_key=group, stream_sha256=stream * 8)
            numbers = dict(acc_online=value, acc_final=value, forgetting=1 - value)
            numbers |= dict(seconds_train=float(T), lasting_swap=0.0, pseudo_label_acc_mean=value)
            shape = dict(rows=9324, features=500, classes=2, T=T, test_rows=1000, started=0)
            run_id = f"{group}{seed}"
            rows.append({"run_id": run_id, **names, **shown, **TEXTS, **shape, **numbers})
            R[run_id] = np.full((T, T), value)
    return Runs(pd.DataFrame(rows).set_index("run_id"), R, {}, {k["group_key"]: {} for k in rows})


def joined(*parts: Runs) -> Runs:
    """All runs of the parts, without curves."""
    R = {run: R for part in parts for run, R in part.R.items()}
    configs = {key: config for part in parts for key, config in part.configs.items()}
    return Runs(pd.concat([part.frame for part in parts]), R, configs=configs)


def with_noise(runs: Runs, noise: Mapping[str, Sequence[float]]) -> Runs:
    """The runs with the curves of both flatness probes, the same for every seed of a method."""
    known = runs.frame.variant[runs.frame.variant.isin([*noise])]
    points = {run: np.array(noise[method]) for run, method in known.items()}
    curves = {"flatness_one_sided": points, "flatness_symmetric": points}
    configs = {key: {"probe": {"bounds": BOUNDS}} for key in runs.configs}
    return dataclasses.replace(runs, curves=curves, configs=configs)
