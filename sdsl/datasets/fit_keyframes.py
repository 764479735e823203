"""Fits the keyframe tables to the original files: python -m sdsl.datasets.fit_keyframes --data DIR

Each class is a mixture of diagonal Gaussians with equal weights whose means and variances are
linear between keyframes, fitted by EM under exactly that constraint (one mode: plain weighted
least squares on the segments' moments). Whether the stream starts on the first keyframe or
one step late, and where it jumps, is read off the segment means too.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from sdsl.datasets.files import find, read
from sdsl.datasets.keyframes import Keyframes, Mode, basis
from sdsl.datasets.parse import Parsed, parse

KEYFRAMES = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
STREAMS = {
    "ug_2c_2d": ("UG_2C_2D", 1000),
    "mg_2c_2d": ("MG_2C_2D", 2000),
    "ug_2c_5d": ("UG_2C_5D", 2000),
}
# Where EM starts for the classes with two modes; the fit moves all of it.
START = {
    ("mg_2c_2d", "1"): ([[2, 2], [8, 8]], [[8, 2], [2, 8]]),
    ("mg_2c_2d", "2"): ([[8, 8], [2, 8], [2, 2]], [[8, 8], [8, 2], [2, 2]]),
}
JUMP = 200.0  # chi-square from which a break in the path is a jump and not noise
PASSES = 2

Track = tuple[np.ndarray, np.ndarray]  # segment means [segments, d] and their errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the original files")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "keyframes")
    args = parser.parse_args()
    for name, (stem, size) in STREAMS.items():
        if (path := find(args.data, [stem])) is None:
            parser.error(f"no {stem} file in {args.data}")
        content = read(path)
        table = fit(name, by_segment(parse(content), size), size)
        write(table, {"fitted_to_sha256": content.sha256}, args.out / f"{name}.json")


def by_segment(rows: Parsed, size: int) -> dict[str, np.ndarray]:
    """label -> [segments, rows of that class in a segment, d]; the class sizes must be equal."""
    X = rows.X.reshape(-1, size, rows.X.shape[1]).astype(float)
    y = rows.y.reshape(-1, size)
    return {
        label: np.stack([x[seen == c] for x, seen in zip(X, y, strict=True)])
        for c, label in enumerate(rows.classes)
    }


def fit(name: str, classes: dict[str, np.ndarray], size: int) -> Keyframes:
    """The table of one stream: timed by the class means first, then by the modes' means."""
    segments = len(next(iter(classes.values())))
    tracks = [_track(rows, np.ones(rows.shape[:2])) for rows in classes.values()]
    times = sorted(KEYFRAMES + [t for t in KEYFRAMES[1:-1] if gain(tracks, t) > JUMP])
    for _ in range(PASSES):
        late = min((0, 1), key=lambda late: misfit(tracks, basis(times, late, segments)))
        blend = basis(times, late, segments)
        fitted: dict[str, list[Mode]] = {}
        tracks = []
        for label, rows in classes.items():
            fitted[label], shares = fit_class(rows, blend, start(name, label, rows, times))
            tracks += [_track(rows, share) for share in shares]
    return Keyframes(size, segments, late, times, fitted)


def _track(rows: np.ndarray, share: np.ndarray) -> Track:
    """Mean of a mode in each segment [segments, d], and its standard error."""
    n = share.sum(axis=1)[:, None]
    mean = (share[..., None] * rows).sum(axis=1) / n
    var = (share[..., None] * (rows - mean[:, None]) ** 2).sum(axis=1) / n
    return mean, np.sqrt(var / n)


def gain(tracks: list[Track], jump: float) -> float:
    """By how much the best misfit falls when the path may jump at that keyframe."""
    # All the others may jump in both fits, so that one jump cannot hide behind another.
    loose = sorted(KEYFRAMES + [t for t in KEYFRAMES[1:-1] if t != jump])
    segments = len(tracks[0][0])

    def best(times: list[float]) -> float:
        return min(misfit(tracks, basis(times, late, segments)) for late in (0, 1))

    return best(loose) - best(sorted([*loose, jump]))


def misfit(tracks: list[Track], blend: np.ndarray) -> float:
    """Chi-square of the segment means about the nearest keyframe path."""
    return sum(
        float((((mean - blend @ solve(blend, mean, error)) / error) ** 2).sum())
        for mean, error in tracks
    )


def start(name: str, label: str, rows: np.ndarray, times: list[float]) -> np.ndarray:
    """[modes, keyframes, d] means to start EM from."""
    paths = START.get((name, label), ([rows[0].mean(axis=0), rows[-1].mean(axis=0)],))
    at = np.asarray(times) / times[-1]
    return np.stack(
        [
            np.stack([np.interp(at, np.linspace(0, 1, len(p)), x) for x in np.transpose(p)], axis=1)
            for p in paths
        ]
    )


def fit_class(
    rows: np.ndarray, blend: np.ndarray, mean: np.ndarray, rounds: int = 60
) -> tuple[list[Mode], np.ndarray]:
    """EM for modes whose mean and var [M, keyframes, d] blend over time; and the rows' shares."""
    var = np.ones_like(mean)
    for _ in range(rounds if len(mean) > 1 else 4):
        shares = responsibilities(rows, blend @ mean, blend @ var)  # [M, segments, rows]
        for m, share in enumerate(shares):
            n = share.sum(axis=1)[:, None]  # [segments, 1]
            now = np.clip(blend @ var[m], 1e-3, None)
            first = (share[..., None] * rows).sum(axis=1) / n
            mean[m] = solve(blend, first, np.sqrt(now / n))
            off = rows - (blend @ mean[m])[:, None]
            second = (share[..., None] * off**2).sum(axis=1) / n
            var[m] = solve(blend, second, now * np.sqrt(2 / n))
    modes = [
        Mode(np.round(a, 3).tolist(), np.round(b, 3).tolist())
        for a, b in zip(mean, var, strict=True)
    ]
    return modes, shares


def responsibilities(rows: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    """[M, segments, rows]: the posterior of each mode, with equal weights."""
    off = rows[None] - mean[:, :, None]
    log = -0.5 * (off**2 / var[:, :, None] + np.log(var[:, :, None])).sum(axis=-1)
    share = np.exp(log - log.max(axis=0))
    return share / share.sum(axis=0)


def solve(blend: np.ndarray, target: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Weighted least squares per feature: keyframes [K, d] whose path is nearest to the target."""
    return np.stack(
        [
            np.linalg.lstsq(blend / e[:, None], t / e, rcond=None)[0]
            for t, e in zip(target.T, error.T, strict=True)
        ],
        axis=1,
    )


def write(table: Keyframes, origin: dict[str, str], path: Path) -> None:
    """One list of keyframes per line, so that a new fit shows as a readable diff."""
    head = {
        **origin,
        "segment_size": table.segment_size,
        "segments": table.segments,
        "late": table.late,
        "times": table.times,
    }
    lines = [f'  "{key}": {json.dumps(value)},' for key, value in head.items()]
    classes = [
        f'    "{label}": [\n'
        + ",\n".join(
            f'      {{"mean": {json.dumps(mode.mean)},\n       "var": {json.dumps(mode.var)}}}'
            for mode in modes
        )
        + "\n    ]"
        for label, modes in table.classes.items()
    ]
    path.write_text("\n".join(["{", *lines, '  "classes": {', ",\n".join(classes), "  }", "}", ""]))
    print(f"{path.name}: late {table.late}, times {table.times}")


if __name__ == "__main__":
    main()
