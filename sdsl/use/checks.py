"""Late labels: by how much the accuracy is over-estimated, with a bound that holds at any time.

Of a segment of n rows whose labels have confidence c_i, row i is drawn with probability q_i, at
least 1 / (B n). Each draw whose true label comes back gives

    z = (c_i - right_i) / (n q_i),   E[z] = mean confidence - accuracy of its segment,   |z| <= B.

With psi(l) = (-log(1 - l B) - l B) / B^2, exp(l sum(z - E[z]) - psi(l) sum z^2) is at most 1 in
expectation for each l in (0, 1 / B) (Fan, Grama & Liu, EJP 20, 2015), and so is its mean over a
grid of l. By Ville's inequality that mean ever exceeds 1 / a with probability a at most: however
many labels came back, whatever the segments, and however often one looks (confidence sequences:
Howard et al., Annals of Statistics 49, 2021). The confidence is the control variate of
prediction-powered inference (Angelopoulos et al., Science 382, 2023) with weight 1.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import logsumexp

from sdsl.datasets.tables import spelled
from sdsl.errors import UserError

ERROR = 0.1  # probability that the interval is ever wrong, half of it at each end
FALSE = 0.05  # probability that the alarm is ever raised where nothing is over-estimated
UNIFORM = 0.5  # share of draws that ignore doubt: then B = 2, else 1
GRID = np.geomspace(0.01, 0.95, 20)  # l B
KEY, ANSWER = ["segment", "file", "row"], "correct_label"
SHOWN = [*KEY, "label", "confidence", "probability", ANSWER]
By = Literal["random", "doubt"]
Array = np.ndarray


class Checks:
    """All draws, a line each; `correct_label` is None until it came back."""

    def __init__(self, drawn: Mapping[str, list[Any]] | None = None, X: Array | None = None):
        self.drawn = pd.DataFrame(drawn or {name: [] for name in (*SHOWN, "share", "estimate")})
        self.drawn[ANSWER] = self.drawn[ANSWER].astype(object)
        self.X = np.zeros((0, 0)) if X is None else X  # [draws, d]

    def state(self) -> dict[str, Any]:
        drawn = {name: column.tolist() for name, column in self.drawn.items()}
        return {"drawn": drawn, "X": self.X}

    def draw(self, at: Sequence[int], X: Array, y: Array, c: Array, count: int, by: By) -> None:
        """Draw `count` of the rows X [n, d] with labels y and confidence c, with replacement.

        at: (seed, segment)
        """
        n, doubt = len(X), 1 - c
        q = np.full(n, 1 / n)
        if by == "doubt" and doubt.sum() > 0:
            q = UNIFORM * q + (1 - UNIFORM) * doubt / doubt.sum()
        rows = np.random.default_rng(at).choice(n, count, p=q / q.sum())
        new: dict[str, Any] = {"segment": at[1], "file": "", "row": rows, ANSWER: None}
        new |= {"label": list(map(str, y[rows])), "confidence": c[rows], "probability": q[rows]}
        new |= {"share": 1 / n, "estimate": c.mean()}
        frames = [self.drawn, pd.DataFrame(new).astype({ANSWER: object})]
        self.drawn = pd.concat([one for one in frames if len(one)], ignore_index=True)
        self.X = np.concatenate([self.X, X[rows]]) if len(self.X) else X[rows]

    def place(self, segment: int, files: Array, rows: Array) -> None:
        """Name the draws of a segment by file and row; [n] of each row of the segment."""
        mine = self.drawn.segment == segment
        at = self.drawn.row[mine].to_numpy(int)
        self.drawn.loc[mine, "file"], self.drawn.loc[mine, "row"] = files[at], rows[at]

    def waiting(self) -> pd.DataFrame:
        """The rows to be checked, each once; one that was drawn twice counts twice."""
        return self.drawn.loc[self.drawn[ANSWER].isna(), SHOWN].drop_duplicates(KEY)

    def take(self, given: pd.DataFrame) -> tuple[Array, Array]:
        """(draws whose `correct_label` came back only now, these labels), [m] each."""
        if missing := [name for name in ("segment", "row", ANSWER) if name not in given]:
            raise UserError(f"The checked rows have no column {missing[0]}; expected {SHOWN}.")
        given = given.assign(file=given["file"].fillna("").astype(str) if "file" in given else "")
        given[ANSWER] = [None if pd.isna(one) else spelled(one) for one in given[ANSWER]]
        given = given[given[ANSWER].notna()]
        keys = [(str(s), f, str(r)) for s, f, r in self.drawn[KEY].itertuples(index=False)]
        came = {
            (str(spelled(s)), str(f), str(spelled(r))): a
            for s, f, r, a in given[[*KEY, ANSWER]].to_numpy()
        }
        if others := came.keys() - set(keys):
            segment, file, row = min(others)
            raise UserError(
                f"Row {row} of {file or f'segment {segment}'} was not drawn; check only rows that "
                "were, or the estimate is of other rows."
            )
        answers = pd.Series([came.get(key) for key in keys], dtype=object)
        new = answers.notna() & self.drawn[ANSWER].isna()
        self.drawn.loc[new, ANSWER] = answers[new]
        return np.flatnonzero(new), answers[new].to_numpy(object)

    def summary(self) -> dict[str, float]:
        """Accuracy of the segments of the draws that came back, with an interval; {} before any."""
        _, z, estimate = self._back()
        if not (m := len(z)):
            return {}
        middle, wide = estimate.mean() - z.mean(), self.bound * margin(float(z @ z) / self.bound**2)
        low, middle, high = np.clip([middle - wide / m, middle, middle + wide / m], 0, 1)
        numbers = {"checked": m, "checked_accuracy": middle, "checked_low": low}
        numbers |= {"checked_high": high, "checked_estimate": estimate.mean()}
        return {name: float(value) for name, value in numbers.items()}

    def alarm(self) -> str:
        """Whether the estimate is too high, since the start or a later segment; '' if not shown.

        Bets on every start s = 1, 2, ... share the capital as 1 / (s (s + 1)).
        """
        segments, z, _ = self._back()
        sums = np.stack([z, z**2]) / np.array([[self.bound], [self.bound**2]])
        s, place = np.unique(segments, return_inverse=True)
        parts = np.stack([np.bincount(place, one) for one in sums])  # [2, segments]
        since = parts[:, ::-1].cumsum(1)[:, ::-1]  # from segment s on
        if not len(z) or logsumexp(log_bets(*since) - np.log(s * (s + 1))) < -np.log(FALSE):
            return ""
        found = self.summary()
        told = f"{found['checked_accuracy']:.2f}, estimated {found['checked_estimate']:.2f}"
        return f"the labels are worse than they look: checked accuracy {told}"

    @property
    def bound(self) -> float:
        """B of all draws."""
        return 1.0 if (self.drawn.probability == self.drawn.share).all() else 1 / UNIFORM

    def _back(self) -> tuple[Array, Array, Array]:
        """(segment, z, mean confidence of the segment) of the draws that came back, [m] each."""
        done = self.drawn[self.drawn[ANSWER].notna()]
        z = (done.confidence - (done.label == done[ANSWER])) * done.share / done.probability
        return tuple(one.to_numpy(float) for one in (done.segment, z, done.estimate))


def log_bets(total: Array, squares: Array) -> Array:
    """log mean_l exp(l total - psi(l) squares) [k] of sums of z / B and of its square, [k] each."""
    bet = GRID[:, None]  # l B
    return logsumexp(bet * total + (np.log1p(-bet) + bet) * squares, axis=0) - np.log(len(GRID))


def margin(squares: float) -> float:
    """Half the width of the interval for sum E[z] / B, from sum (z / B)^2."""

    def missing(total: float) -> float:
        return float(log_bets(np.array([total]), np.array([squares]))[0]) - np.log(2 / ERROR)

    return float(brentq(missing, 0.0, 1e3 * (1 + squares)))
