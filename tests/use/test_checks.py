"""Late labels: the interval holds whenever one looks, and what is over-estimated is found."""

import numpy as np
import pytest

from sdsl.use.checks import ANSWER, ERROR, Checks, log_bets, margin

SEGMENTS, ROWS, ASKED = 30, 300, 10


def segment(rng: np.random.Generator, off: float) -> tuple[np.ndarray, np.ndarray]:
    """(confidence [n], whether right [n]); on average `off` too sure."""
    sure = rng.uniform(0.5, 1.0, ROWS)
    return sure, rng.random(ROWS) < sure - off


@pytest.mark.parametrize(("by", "bound"), [("random", 1.0), ("doubt", 2.0)])
@pytest.mark.parametrize("back", [1.0, 0.3])
def test_the_interval_is_right_at_every_look_in_nearly_all_streams(by, bound, back):
    """Stopping when it looks worst is among the looks; 10 % may miss."""
    missed = 0
    for seed in range(300):
        rng, sums = np.random.default_rng(seed), []
        for t in range(SEGMENTS):
            sure, right = segment(rng, 0.1 * (t % 3))
            q = np.full(ROWS, 1 / ROWS)
            if by == "doubt":
                q = q / 2 + (1 - sure) / (1 - sure).sum() / 2
            rows = rng.choice(ROWS, ASKED, p=q)[rng.random(ASKED) < back]
            z = ((sure - right) / (ROWS * q * bound))[rows]
            sums.append([(z - (sure - right).mean() / bound).sum(), (z**2).sum()])
        off, squares = np.cumsum(sums, axis=0).T
        bets = np.maximum(log_bets(off, squares), log_bets(-off, squares))
        missed += bool((bets >= np.log(2 / ERROR)).any())
    assert missed <= ERROR * 300
    assert log_bets(np.array([margin(5.0)]), np.array([5.0]))[0] == pytest.approx(np.log(2 / ERROR))


def test_bets_by_hand():
    bets = np.exp(log_bets(np.array([0.0, 3.0]), np.array([0.0, 2.0])))
    grid = np.geomspace(0.01, 0.95, 20)
    assert bets[0] == pytest.approx(1.0)
    assert bets[1] == pytest.approx(np.mean([np.exp(5 * b) * (1 - b) ** 2 for b in grid]))


def checked(seed: int, off: float, late: int, by: str = "random") -> list[bool]:
    """Whether the alarm is on after each segment; from `late` on the labels are worse."""
    rng, checks, on = np.random.default_rng(seed), Checks(), []
    for t in range(1, SEGMENTS + 1):
        sure, right = segment(rng, off if t >= late else 0.0)
        given = np.where(right, "a", "b")
        checks.draw((seed, t), np.zeros((ROWS, 1)), given, sure, ASKED, by)
        checks.take(checks.waiting().assign(**{ANSWER: "a"}))
        on.append(bool(checks.alarm()))
    return on


@pytest.mark.parametrize("by", ["random", "doubt"])
def test_the_alarm(by):
    assert not any(any(checked(seed, 0.0, 1, by)) for seed in range(5))
    for seed in range(5):
        on = checked(seed, 0.4, 16, by)
        assert not any(on[:15]) and on[-1]
