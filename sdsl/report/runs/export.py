"""Results in a folder small enough for git, and back.

runs.csv, R.npz, R_context.npz where something was tested in context, curves.npz, notes.txt,
configs.json.xz, from which every run can be run again, environment.txt (the packages they were made
with), and tradeoff.csv and erratum.csv where they were measured.
"""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from sdsl.errors import UserError
from sdsl.report.runs import configs
from sdsl.report.runs.results import TEXT_COLUMNS, Results

NOT_EVALUATED = np.uint16(65535)  # stands for NaN in R
ENVIRONMENT = "environment.txt"
CONTEXT = "R_context.npz"
TRADEOFF, ERRATUM = "tradeoff.csv", "erratum.csv"
INTEGER_COLUMNS = ("seed", "T", "test_rows", "started")


def write(results: Results, folder: Path) -> None:
    """R is written as counts of right answers, k of test_rows, so that nothing is lost."""
    folder.mkdir(parents=True, exist_ok=True)
    R: dict[str, np.ndarray] = {}
    R_context: dict[str, np.ndarray] = {}
    curves: dict[str, np.ndarray] = {}
    for key, runs in _stacks(results.frame):
        R[key] = np.stack([_counts(run, results.R[run], runs.test_rows[run]) for run in runs.index])
        if known := [run for run in runs.index if run in results.R_context]:
            empty = np.full_like(results.R_context[known[0]], np.nan)
            R_context[key] = np.stack(
                [
                    _counts(run, results.R_context.get(run, empty), runs.test_rows[run])
                    for run in runs.index
                ]
            )
        for name, by_run in results.curves.items():
            points = [by_run.get(run, np.empty(0)) for run in runs.index]
            if width := max(map(len, points)):
                # A verdict rests on the flatness curves: they keep all their digits.
                kind = np.float16 if name == "pseudo_label_acc" else np.float64
                padded = [np.pad(p, (0, width - len(p)), constant_values=np.nan) for p in points]
                curves[f"{name}|{key}"] = np.stack(padded).astype(kind)
    results.frame.to_csv(folder / "runs.csv", lineterminator="\n")
    (folder / "notes.txt").write_text("".join(f"{n}\n" for n in results.notes), encoding="utf-8")
    if results.environment:
        (folder / ENVIRONMENT).write_text(results.environment, encoding="utf-8")
    configs.write(results.configs, folder)
    for name, measured in {TRADEOFF: results.tradeoff, ERRATUM: results.erratum}.items():
        if len(measured):
            measured.to_csv(folder / name, index=False, lineterminator="\n")
    _write_arrays(folder / "R.npz", R)
    (folder / CONTEXT).unlink(missing_ok=True)  # of an earlier export
    if R_context:
        _write_arrays(folder / CONTEXT, R_context)
    _write_arrays(folder / "curves.npz", curves)


def read(folder: Path) -> Results:
    """What `write` wrote."""
    try:
        frame = pd.read_csv(
            folder / "runs.csv", index_col="run_id", dtype=str, keep_default_na=False
        )
        counts, curves = _read_arrays(folder / "R.npz"), _read_arrays(folder / "curves.npz")
        in_context = _read_arrays(folder / CONTEXT) if (folder / CONTEXT).exists() else {}
        notes = tuple((folder / "notes.txt").read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(
            f"{folder} holds no exported results ({error}). Expected runs.csv, R.npz, curves.npz "
            "and notes.txt, as `python -m sdsl.report --export FOLDER` writes them."
        ) from None
    for column in frame.columns.drop([name for name in TEXT_COLUMNS if name in frame]):
        numbers = frame[column].map(lambda cell: float(cell) if cell else np.nan)
        frame[column] = numbers.astype(int if column in INTEGER_COLUMNS else float)
    file = folder / ENVIRONMENT  # exports of older versions have none
    environment = file.read_text(encoding="utf-8") if file.exists() else ""
    tested = frame[(frame.prefix + "|" + frame.stream).isin(list(in_context))]
    batches = {run: R for run, R in _accuracies(tested, in_context).items() if not _empty(R)}
    accuracies = _accuracies(frame, counts), _curves(frame, curves)
    beside = (read_measured(folder / name) for name in (TRADEOFF, ERRATUM))
    return Results(frame, *accuracies, notes, environment, batches, configs.read(folder), *beside)


def _empty(R: np.ndarray) -> bool:
    return bool(np.isnan(R).all())


def read_all(folders: Sequence[Path]) -> Results:
    """The runs of several folders together; a run that two of them hold counts once."""
    parts = [read(folder) for folder in folders]
    frame = pd.concat([part.frame for part in parts])
    frame = frame[~frame.index.duplicated()]
    curves: dict[str, dict[str, np.ndarray]] = {}
    for part in parts:
        for name, by_run in part.curves.items():
            curves.setdefault(name, {}).update(by_run)
    return Results(
        frame.sort_values(["prefix", "stream", "variant", "probe", "seed"]),
        {run: R for part in parts for run, R in part.R.items()},
        curves,
        tuple(note for part in parts for note in part.notes),
        parts[0].environment,
        {run: R for part in parts for run, R in part.R_context.items()},
        {key: config for part in parts for key, config in part.configs.items()},
        pd.concat([part.tradeoff for part in parts]).drop_duplicates(ignore_index=True),
        pd.concat([part.erratum for part in parts]).drop_duplicates(ignore_index=True),
    )


def read_measured(file: Path) -> pd.DataFrame:
    """What `python -m sdsl.report.tradeoff` or `.erratum` wrote; empty if the file is not there."""
    return pd.read_csv(file) if file.exists() else pd.DataFrame()


def _accuracies(frame: pd.DataFrame, stacks: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """run_id -> R"""
    R = {}
    for key, runs in _stacks(frame):
        for run, counts in zip(runs.index, stacks[key], strict=True):
            known = counts != NOT_EVALUATED
            R[run] = np.where(known, counts / runs.test_rows[run], np.nan)
    return R


def _curves(
    frame: pd.DataFrame, stacks: Mapping[str, np.ndarray]
) -> dict[str, dict[str, np.ndarray]]:
    """name -> run_id -> points, the padding cut off."""
    runs_of = {key: runs.index for key, runs in _stacks(frame)}
    curves: dict[str, dict[str, np.ndarray]] = {}
    for name_and_key, stack in stacks.items():
        name, _, key = name_and_key.partition("|")
        if key not in runs_of:
            continue
        for run, curve in zip(runs_of[key], stack, strict=True):
            known = np.flatnonzero(np.isfinite(curve))
            if len(known):
                curves.setdefault(name, {})[run] = curve[: known[-1] + 1].astype(float)
    return curves


def _stacks(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Runs whose R have the same shape, under a key for their arrays."""
    for (prefix, stream), runs in frame.groupby(["prefix", "stream"], sort=True):
        yield f"{prefix}|{stream}", runs


def _counts(run: str, R: np.ndarray, rows: int) -> np.ndarray:
    counts = np.round(np.nan_to_num(R) * rows)
    if np.nanmax(np.abs(counts / max(rows, 1) - R), initial=0.0) > 1e-9 or rows >= NOT_EVALUATED:
        raise UserError(
            f"Run {run} cannot be exported: its accuracies are not shares of {rows} test rows."
        )
    return np.where(np.isnan(R), NOT_EVALUATED, counts).astype(np.uint16)


def _write_arrays(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An .npz that np.load reads. LZMA halves it; a fixed date makes equal results equal files."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        for name in sorted(arrays):
            data = io.BytesIO()
            np.save(data, arrays[name], allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_LZMA
            archive.writestr(entry, data.getvalue())


def _read_arrays(file: Path) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
