"""The files of a run: R as NPY, CSV and a heat map, R_context, curves, config, environment."""

import csv
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from mlflow.entities import Run
from omegaconf import OmegaConf

from sdsl.core.thin import picture
from sdsl.tracking import provenance
from sdsl.tracking.client import PatientClient
from sdsl.tracking.confusion_files import COUNTS

# A run counts only while these are what it wrote: file -> the tag that holds its SHA-256.
CHECKED = {"R.npy": "R_sha256", "config.yaml": "config_sha256"}
# Likewise, of a run that has them: tested in context, too; not of an older version.
SOMETIMES = {"R_context.npy": "R_context_sha256", COUNTS: "confusion_sha256"}


def write(
    folder: Path,
    R: np.ndarray,
    curves: Mapping[str, np.ndarray],
    config: Mapping[str, Any],
    title: str,
    footnote: str,
    R_context: np.ndarray | None = None,
) -> None:
    """Write all files of a run. R is [T, T], rows 1..T; a curve's row t is step t.

    A thinned R is a list of cells instead, i, j and accuracy: see core/thin.py.
    """
    np.save(folder / "R.npy", R)
    if R_context is not None:
        np.save(folder / "R_context.npy", R_context)
    # Accuracies are counts over q test rows: six digits lose nothing that a reader could use.
    cells = R.dtype.names
    head, form = ("", "%.6g") if cells is None else (",".join(cells), "%d,%d,%.6g")
    np.savetxt(folder / "R.csv", R, fmt=form, delimiter=",", header=head, comments="")
    write_curves(folder / "curves.csv", curves)
    heat_map(folder / "R.png", R, title, footnote)
    (folder / "config.yaml").write_text(OmegaConf.to_yaml(dict(config)), encoding="utf-8")
    (folder / "environment.txt").write_text(provenance.packages(), encoding="utf-8")
    if patch := provenance.diff():
        (folder / "diff.patch").write_text(patch, encoding="utf-8")


def write_curves(file: Path, curves: Mapping[str, np.ndarray]) -> None:
    """One column per curve, one row per step; where there is no value a cell is empty."""
    length = max(map(len, curves.values()), default=0)
    with file.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["step", *curves])
        for t in range(length):
            cells = [c[t] if t < len(c) else np.nan for c in curves.values()]
            rows.writerow([t + 1, *("" if np.isnan(v) else f"{v:.9g}" for v in cells)])


def heat_map(file: Path, R: np.ndarray, title: str, footnote: str) -> None:
    """R[i, j] in colours (cividis) that can be told apart when colour-blind and in print."""
    from matplotlib.figure import Figure  # half a second, and only here

    T, R = len(R) if R.dtype.names is None else int(R["i"].max()), picture(R)
    low = np.floor(10 * np.nanmin(R)) / 10 if np.isfinite(R).any() else 0.0
    figure = Figure(figsize=(4.6, 4.2))
    axes = figure.add_axes((0.13, 0.17, 0.66, 0.72))  # by hand: a layout engine draws it all twice
    image = axes.imshow(
        np.ma.masked_invalid(R),
        cmap="cividis",
        vmin=min(low, 0.9),
        vmax=1.0,
        extent=(0.5, T + 0.5, T + 0.5, 0.5),
        interpolation="nearest",
    )
    axes.set_xlabel("test segment j")
    axes.set_ylabel("after learning segment i")
    # Names are shown as they are: one with $ signs is no formula.
    axes.set_title(title, fontsize=10, parse_math=False)
    figure.colorbar(image, cax=figure.add_axes((0.82, 0.17, 0.035, 0.72)), label="accuracy R[i, j]")
    figure.text(0.01, 0.015, footnote, fontsize=6, color="0.35", parse_math=False)
    figure.savefig(file, dpi=110)


def fetch(client: PatientClient, run: Run, folder: str) -> dict[str, Path]:
    """The checked files of a logged run by name, downloaded into the folder if not local."""
    return {
        name: Path(client.download_artifacts(run.info.run_id, name, folder))
        for name in checked(run.data.tags)
    }


def checked(tags: Mapping[str, str]) -> dict[str, str]:
    """file -> tag: what a run with these tags promises."""
    return CHECKED | {name: tag for name, tag in SOMETIMES.items() if tag in tags}


def written(folder: Path) -> list[Path]:
    """The files in a folder that a run is held to."""
    return [folder / name for name in CHECKED | SOMETIMES if (folder / name).exists()]


def digests(files: Iterable[Path]) -> dict[str, str]:
    """tag -> SHA-256 of the checked files."""
    tags = CHECKED | SOMETIMES
    return {tags[file.name]: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def promised(tags: Mapping[str, str]) -> dict[str, str | None]:
    """tag -> what the run said of its files when it finished."""
    return {tag: tags.get(tag) for tag in checked(tags).values()}
