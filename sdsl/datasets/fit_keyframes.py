"""Fits the keyframe tables to the original files: python -m sdsl.datasets.fit_keyframes --data DIR

Each class is a mixture of diagonal Gaussians with equal weights whose means and variances are
linear between keyframes, fitted by EM under exactly that constraint (one mode: plain weighted
least squares on the segments' moments). Which time step is missing and where the path jumps are
read off the segment means of the file itself.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from sdsl.datasets.files import find, read
from sdsl.datasets.keyframes import basis
from sdsl.datasets.parse import Parsed, parse

KEYFRAMES = [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
STREAMS = {"ug_2c_2d": ("UG_2C_2D", 1000), "mg_2c_2d": ("MG_2C_2D", 2000)}
STREAMS["ug_2c_5d"] = ("UG_2C_5D", 2000)
# Where EM starts for the classes with two modes; the fit moves all of it.
START = {
    ("mg_2c_2d", "1"): ([[2, 2], [8, 8]], [[8, 2], [2, 8]]),
    ("mg_2c_2d", "2"): ([[8, 8], [2, 8], [2, 2]], [[8, 8], [8, 2], [2, 2]]),
}
JUMP = 100.0  # chi-square (2 per jump expected by chance) from which a break is a jump, not noise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the original files")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "keyframes")
    args = parser.parse_args()
    for name, (stem, size) in STREAMS.items():
        if (path := find(args.data, [stem])) is None:
            parser.error(f"no {stem} file in {args.data}")
        content = read(path)
        spec = fit(name, by_segment(parse(content), size), size, content.sha256)
        write(spec, args.out / f"{name}.json")


def by_segment(rows: Parsed, size: int) -> dict[str, np.ndarray]:
    """label -> [segments, rows of that class in a segment, d]; the class sizes must be equal."""
    X = rows.X.reshape(-1, size, rows.X.shape[1]).astype(float)
    y = rows.y.reshape(-1, size)
    return {
        label: np.stack([x[seen == c] for x, seen in zip(X, y, strict=True)])
        for c, label in enumerate(rows.classes)
    }


def fit(name: str, classes: dict[str, np.ndarray], size: int, sha256: str) -> dict:
    segments = len(next(iter(classes.values())))
    times, skip = timing(classes, segments)
    blend = basis(times, skip, segments)
    fitted = {c: fit_class(rows, blend, start(name, c, rows, times)) for c, rows in classes.items()}
    head = {"fitted_to_sha256": sha256, "segment_size": size, "segments": segments}
    return {**head, "skip": skip, "times": times, "classes": fitted}


def timing(classes: dict[str, np.ndarray], segments: int) -> tuple[list[float], int]:
    """Keyframe times (a jump stands twice) and the first segment after the missing time step."""
    jumps = [t for t in KEYFRAMES[1:-1] if gain(classes, segments, t) > JUMP]
    times = sorted(KEYFRAMES + jumps)
    misfits = [misfit(classes, basis(times, skip, segments)) for skip in range(segments + 1)]
    return times, int(np.argmin(misfits))


def gain(classes: dict[str, np.ndarray], segments: int, jump: float) -> float:
    """By how much the best misfit falls when the path may jump at that keyframe."""
    # Every keyframe but this one may jump in both fits, so that one jump cannot hide another.
    loose = sorted(KEYFRAMES + [t for t in KEYFRAMES[1:-1] if t != jump])
    steps = range(0, segments + 1, 5)
    without = min(misfit(classes, basis(loose, skip, segments)) for skip in steps)
    full = sorted([*loose, jump])
    return without - min(misfit(classes, basis(full, skip, segments)) for skip in steps)


def misfit(classes: dict[str, np.ndarray], blend: np.ndarray) -> float:
    """Chi-square of the segment means of all classes and features about the keyframe path."""
    total = 0.0
    for rows in classes.values():
        mean, error = rows.mean(axis=1), rows.std(axis=1, ddof=1) / np.sqrt(rows.shape[1])
        path = blend @ solve(blend, mean, error)
        total += float((((mean - path) / error) ** 2).sum())
    return total


def start(name: str, label: str, rows: np.ndarray, times: list[float]) -> np.ndarray:
    """[modes, keyframes, d] means to start EM from."""
    guess = START.get((name, label), ([rows[0].mean(0), rows[-1].mean(0)],))

    def spread(path):
        path, at = np.asarray(path, float), np.linspace(0, 1, len(path))
        return [np.interp(np.asarray(times) / times[-1], at, column) for column in path.T]

    return np.stack([np.stack(spread(path), axis=1) for path in guess])


def fit_class(
    rows: np.ndarray, blend: np.ndarray, mean: np.ndarray, rounds: int = 60
) -> list[dict]:
    """EM for modes [M] whose mean and var [M, keyframes, d] blend over the segments."""
    var = np.ones_like(mean)
    for _ in range(rounds if len(mean) > 1 else 4):
        share = responsibilities(rows, blend @ mean, blend @ var)  # [M, segments, rows]
        for m, weight in enumerate(share):
            n = weight.sum(axis=1)[:, None]  # [segments, 1]
            first = (weight[..., None] * rows).sum(axis=1) / n
            now = np.clip(blend @ var[m], 1e-3, None)
            mean[m] = solve(blend, first, np.sqrt(now / n))
            off = rows - (blend @ mean[m])[:, None]
            second = (weight[..., None] * off**2).sum(axis=1) / n
            var[m] = solve(blend, second, now * np.sqrt(2 / n))
    return [
        {"mean": np.round(a, 3).tolist(), "var": np.round(b, 3).tolist()}
        for a, b in zip(mean, var, strict=True)
    ]


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


def write(spec: dict, path: Path) -> None:
    """One keyframe list a line, so that a refit shows as a readable diff."""
    head = {k: v for k, v in spec.items() if k != "classes"}
    lines = [f'  "{key}": {json.dumps(value)},' for key, value in head.items()]
    classes = [
        f'    "{label}": [\n'
        + ",\n".join(
            f'      {{"mean": {json.dumps(m["mean"])},\n       "var": {json.dumps(m["var"])}}}'
            for m in modes
        )
        + "\n    ]"
        for label, modes in spec["classes"].items()
    ]
    path.write_text("\n".join(["{", *lines, '  "classes": {', ",\n".join(classes), "  }", "}", ""]))
    print(f"{path}: skip {spec['skip']}, times {spec['times']}")


if __name__ == "__main__":
    main()
