"""Results in a small folder that git can hold: runs.csv, R.npz, curves.npz; and back, exactly."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from sdsl.errors import UserError
from sdsl.report.runs.results import WORDS, Results

MISSING = np.uint16(65535)  # a cell of R that was not evaluated
WHOLE = {"seed": int, "T": int, "test_rows": int, "started": int}


def export(results: Results, folder: Path) -> None:
    """R as counts of right answers: accuracies are k / test_rows, so nothing is lost."""
    folder.mkdir(parents=True, exist_ok=True)
    R: dict[str, np.ndarray] = {}
    curves: dict[str, np.ndarray] = {}
    for key, runs in _stacks(results.frame):
        R[key] = np.stack([_counts(results, run) for run in runs.index])
        for name, known in results.curves.items():
            found = [known.get(run, np.empty(0)) for run in runs.index]
            if width := max(map(len, found)):
                # Curves are for figures, but a verdict rests on the flatness ones: all digits.
                kind = np.float16 if name == "pseudo_label_acc" else np.float64
                ends = [np.pad(c, (0, width - len(c)), constant_values=np.nan) for c in found]
                curves[f"{name}|{key}"] = np.stack(ends).astype(kind)
    results.frame.to_csv(folder / "runs.csv", lineterminator="\n")
    (folder / "notes.txt").write_text("".join(f"{n}\n" for n in results.notes), encoding="utf-8")
    _write(folder / "R.npz", R)
    _write(folder / "curves.npz", curves)


def load(folder: Path) -> Results:
    """What `export` wrote."""
    try:
        frame = pd.read_csv(
            folder / "runs.csv", index_col="run_id", dtype=str, keep_default_na=False
        )
        stacks, points = _read(folder / "R.npz"), _read(folder / "curves.npz")
        notes = tuple((folder / "notes.txt").read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(
            f"{folder} holds no exported results ({error}). Expected runs.csv, R.npz, curves.npz "
            "and notes.txt, as `python -m sdsl.report --export FOLDER` writes them."
        ) from None
    for column in frame.columns.drop([name for name in WORDS if name in frame]):
        numbers = frame[column].map(lambda cell: float(cell) if cell else np.nan)
        frame[column] = numbers.astype(WHOLE.get(column, float))
    R: dict[str, np.ndarray] = {}
    curves: dict[str, dict[str, np.ndarray]] = {}
    for key, runs in _stacks(frame):
        for run, counts in zip(runs.index, stacks[key], strict=True):
            R[run] = np.where(counts == MISSING, np.nan, counts / runs.test_rows[run])
        for name in {k.partition("|")[0] for k in points if k.partition("|")[2] == key}:
            for run, curve in zip(runs.index, points[f"{name}|{key}"], strict=True):
                known = np.flatnonzero(np.isfinite(curve))
                if len(known):
                    curves.setdefault(name, {})[run] = curve[: known[-1] + 1].astype(float)
    return Results(frame, R, curves, notes)


def _stacks(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Runs whose R have one shape."""
    for (prefix, stream), runs in frame.groupby(["prefix", "stream"], sort=True):
        yield f"{prefix}|{stream}", runs


def _counts(results: Results, run: str) -> np.ndarray:
    R, rows = results.R[run], results.frame.test_rows[run]
    counts = np.round(np.nan_to_num(R) * rows)
    if np.nanmax(np.abs(counts / max(rows, 1) - R), initial=0.0) > 1e-9 or rows >= MISSING:
        raise UserError(f"Run {run}: its R is not a share of {rows} test rows, so not exportable.")
    return np.where(np.isnan(R), MISSING, counts).astype(np.uint16)


def _write(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An .npz that np.load reads; LZMA halves it, and a fixed date makes equal results equal."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        for name in sorted(arrays):
            data = io.BytesIO()
            np.save(data, arrays[name], allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_LZMA
            archive.writestr(entry, data.getvalue())


def _read(file: Path) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
