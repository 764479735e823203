"""Runs in a folder small enough for git, and back: all that the report and verify need of them.

runs.csv; R.npz, as counts of right answers of `test_rows`, or as it is where that is 0 (segments of
unequal length); curves.npz; configs.json.xz, {group_key: config}; environment.txt, and notes.txt if
there are any. In R.npz and curves.npz runs with arrays of one shape are stacked under its name, and
`NAME rows` has the rows of runs.csv that they are of.
"""

import io
import json
import lzma
import random
import zipfile
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdsl.errors import UserError
from sdsl.report.runs import INTEGER_COLUMNS, TEXT_COLUMNS, Runs

NOT_EVALUATED = 65535  # stands for NaN in R, as uint16
FEWEST_DIGITS = {"pseudo_label_acc": np.float16}  # only drawn; verdicts rest on the other curves


def write(runs: Runs, folder: Path) -> None:
    """Writes an export; equal runs give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    frame = runs.frame.sort_values(["setting", "stream", "variant", "probe", "seed"])
    frame.to_csv(folder / "runs.csv", lineterminator="\n")
    counts = {run: _counts(run, runs.R[run], rows) for run, rows in frame.test_rows.items()}
    _write_arrays(folder / "R.npz", _stacked("R", counts, frame.index))
    curves: dict[str, np.ndarray] = {}
    for name, by_run in runs.curves.items():
        digits = FEWEST_DIGITS.get(name, np.float64)
        points = {run: own.astype(digits) for run, own in by_run.items()}
        curves |= _stacked(name, points, frame.index)
    _write_arrays(folder / "curves.npz", curves)
    configs = {key: runs.configs[key] for key in sorted({*frame.group_key} & {*runs.configs})}
    text = json.dumps(configs, sort_keys=True)  # configs repeat one another: 280 take 20 KB
    (folder / "configs.json.xz").write_bytes(lzma.compress(text.encode()))
    for name, content in {
        "environment.txt": runs.environment,
        "notes.txt": "".join(f"{note}\n" for note in runs.notes),
    }.items():
        (folder / name).unlink(missing_ok=True)
        if content:
            (folder / name).write_text(content, encoding="utf-8")


def read(*folders: Path) -> Runs:
    """The runs of one or several exports; a run that two of them hold counts once."""
    parts = [_read(folder) for folder in folders]
    frame = pd.concat([part.frame for part in parts])
    names = {name for part in parts for name in part.curves}
    return Runs(
        frame[~frame.index.duplicated()],
        ChainMap(*(dict(part.R) for part in parts)),
        {name: ChainMap(*(dict(part.curves.get(name, {})) for part in parts)) for name in names},
        ChainMap(*(dict(part.configs) for part in parts)),
        tuple(note for part in parts for note in part.notes),
        parts[0].environment,
    )


@dataclass(frozen=True)
class Exported:
    """An exported run, and all that is needed to run it again."""

    name: str
    config: dict[str, Any]
    seed: int
    R: np.ndarray  # [T, T]
    data_sha256: str
    moved: float  # by how much jitter moves a seed's Acc_t in its cell; NaN: not measured


def sample(folder: Path, count: int, seed: int) -> Iterator[Exported]:
    """`count` runs of an export, drawn by `seed`."""
    runs = read(folder)
    for run_id in random.Random(seed).sample(sorted(runs.frame.index), min(count, len(runs.R))):
        run = runs.frame.loc[run_id]
        name = f"{run.variant} · {run.stream} · seed {run.seed}"
        config, R = runs.configs[run.group_key], runs.R[run_id]
        moved = runs.moved(run.setting, run.variant, run.stream, "acc_online")
        yield Exported(name, config, int(run.seed), R, run.data_sha256, moved)


def rows_tested(matrices: Sequence[np.ndarray]) -> int:
    """The smallest q such that all accuracies are k / q; 0 if k takes more than 16 bits."""
    values = np.unique(np.concatenate([R[np.isfinite(R)] for R in matrices]))
    rows = lcm(
        *(Fraction(float(v)).limit_denominator(NOT_EVALUATED - 1).denominator for v in values)
    )
    return rows if rows < NOT_EVALUATED else 0


def _read(folder: Path) -> Runs:
    try:
        frame = pd.read_csv(
            folder / "runs.csv",
            index_col="run_id",
            dtype=dict.fromkeys(TEXT_COLUMNS, str),
            float_precision="round_trip",  # pandas' default parser changes the last bit
        )
        counts = _read_arrays(folder / "R.npz", frame.index)["R"]
        curves = _read_arrays(folder / "curves.npz", frame.index)
        configs = json.loads(lzma.decompress((folder / "configs.json.xz").read_bytes()))
        frame = frame.fillna(dict.fromkeys(TEXT_COLUMNS, "")).astype(
            dict.fromkeys(INTEGER_COLUMNS, int)
        )
        R = {run: _accuracies(counts[run], rows) for run, rows in frame.test_rows.items()}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, lzma.LZMAError) as error:
        raise UserError(
            f"{folder} holds no exported runs ({error}). Expected runs.csv, R.npz, curves.npz and "
            "configs.json.xz, as `python -m sdsl.report --export FOLDER` writes them."
        ) from None
    drawn = {
        name: {run: points.astype(float) for run, points in by_run.items()}
        for name, by_run in curves.items()
    }
    notes, environment = (_text(folder / name) for name in ("notes.txt", "environment.txt"))
    return Runs(frame, R, drawn, configs, tuple(notes.splitlines()), environment)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _counts(run: str, R: np.ndarray, rows: int) -> np.ndarray:
    if not rows:
        return R
    counts = np.round(np.nan_to_num(R) * rows)
    if np.nanmax(np.abs(counts / rows - R), initial=0.0) > 1e-9:
        raise UserError(
            f"Run {run} cannot be exported: its accuracies are not shares of {rows} test rows."
        )
    return np.where(np.isnan(R), NOT_EVALUATED, counts).astype(np.uint16)


def _accuracies(counts: np.ndarray, rows: int) -> np.ndarray:
    return np.where(counts != NOT_EVALUATED, counts / rows, np.nan) if rows else counts


def _write_arrays(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An .npz that np.load reads. LZMA halves it; a fixed date makes equal results equal files."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        for name in sorted(arrays):
            data = io.BytesIO()
            np.save(data, arrays[name], allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_LZMA
            archive.writestr(entry, data.getvalue())


def _stacked(
    name: str, arrays: Mapping[str, np.ndarray], run_ids: pd.Index
) -> dict[str, np.ndarray]:
    """The arrays of equal shape as one: that compresses best."""
    found: dict[str, np.ndarray] = {}
    known = [(row, arrays[run]) for row, run in enumerate(run_ids) if run in arrays]
    for shape in sorted({array.shape for _, array in known}):
        rows = [row for row, array in known if array.shape == shape]
        key = f"{name} {'x'.join(map(str, shape))}"
        found[key] = np.stack([array for _, array in known if array.shape == shape])
        found[f"{key} rows"] = np.array(rows, np.int32)
    return found


def _read_arrays(file: Path, run_ids: pd.Index) -> dict[str, dict[str, np.ndarray]]:
    """name -> run_id -> array"""
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(file, allow_pickle=False) as archive:
        for key in archive.files:
            if not key.endswith(" rows"):
                runs = run_ids[archive[f"{key} rows"]]
                found.setdefault(key.split()[0], {}).update(zip(runs, archive[key], strict=True))
    return found
