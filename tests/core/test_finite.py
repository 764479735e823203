"""NaN never passes for a result; few rows, or one huge value, break none of our own methods."""

import numpy as np
import pytest
import support
import torch
from cli import TINY, call, runs, status

from sdsl.core.finite import NotFinite, all_finite, scored
from sdsl.core.scaler import HUGE, Scaler, calm
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier

OURS = [m for m in support.METHODS if m.startswith(("ours", "tracker"))]
DATA = support.blobs(rows=420, classes=3, d=4, drift=1.0, spread=0.7)


def brief(method: str, data, *words: str, segment_size=60, test_size=20):
    cfg = support.brief(support.config(f"method={method}", *words))
    sizes = {"segment_size": segment_size, "test_size": test_size}
    return support.trial(cfg | {"dataset": support.small(**sizes)}, (0, 1), data).outcome


def with_value(row: int, value: float):
    X = DATA.X.copy()
    X[row, 1] = value
    return support.table(X, DATA.y)


def is_finite(outcome) -> bool:
    return all_finite(outcome.learner.theta) and bool(np.isfinite(outcome.R).all())


@pytest.mark.parametrize("method", OURS)
def test_segments_of_four_rows(method):
    rows = support.blobs(rows=36, classes=2, d=2, drift=1.0, spread=0.7)
    assert is_finite(brief(method, rows, "stream.gold=1", segment_size=4, test_size=1))


@pytest.mark.parametrize("row", [30, 200], ids=["in gold", "in segment 3"])
@pytest.mark.parametrize("method", OURS)
def test_one_huge_value(method, row):
    outcome = brief(method, with_value(row, 1e30))
    assert is_finite(outcome)
    assert np.mean(outcome.R == brief(method, DATA).R) > 0.8  # nothing but that row is different


@pytest.mark.parametrize("method", ["ours", "st", "pl_conf", "record", "jt", "dann", "eaml", "sar"])
@pytest.mark.parametrize(
    ("words", "scale", "says"),
    [
        (["learner.pretrain.lr=1e6"], 1.0, "lower learner.pretrain.lr"),
        (["stream.scaler=none"], 1e12, "set stream.scaler=frozen"),
    ],
)
def test_a_run_that_diverges_ends_with_a_sentence(method, words, scale, says):
    data = support.table(DATA.X * scale, DATA.y)
    try:
        outcome = brief(method, data, *words)
    except NotFinite as error:
        assert says in str(error) and ("no longer finite" in str(error) or "NaN" in str(error))
    else:  # a method that trains from scratch may recover; then its numbers are numbers
        assert is_finite(outcome) and method in ("pl_conf", "jt", "record")


def test_the_part_and_the_step_are_named():
    with pytest.raises(NotFinite, match=r"At step 1, in the replay, .* rate of the replay"):
        brief("pl_conf", DATA, "replay.fit.lr=1e30")
    with pytest.raises(NotFinite, match=r"At step 1, in the labeler, "):
        brief("ours", DATA, "labeler.fit.lr=1e30")


def test_a_classifier_that_is_no_network_is_not_judged_by_one():
    assert np.isfinite(
        brief("scargc", support.table(DATA.X * 1e12, DATA.y), "stream.scaler=none").R
    ).all()


def test_the_run_is_failed_and_exit_is_2(here, capfd):
    assert call(*TINY, "learner.pretrain.lr=1e9") == 2
    said = capfd.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("In the first fit on gold (pretraining), ")
    assert list(status().values()) == ["FAILED"] and runs()[0].data.metrics == {}


def test_scores():
    assert scored(torch.tensor([1.0, -torch.inf]), "x").shape == (2,)
    with pytest.raises(NotFinite, match="x are no numbers"):
        scored(torch.tensor([1.0, torch.nan]), "x")
    assert not all_finite([torch.ones(2), torch.tensor([torch.inf])])


def test_a_value_out_of_all_proportion_sets_no_scale():
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.normal(size=(1, 50, 2)).astype(np.float32))
    bad = X.clone()
    bad[0, 7, 1] = -1e30
    assert torch.equal(calm(X[0]), X[0])
    assert torch.allclose(Scaler.fit(bad).scale, Scaler.fit(X).scale, rtol=0.1)
    z = Scaler.fit(bad)(bad)
    assert z[0, 7, 1] == 0 and z.abs().max() < 10
    wide = 1e9 * X  # large units are no reason
    assert torch.equal(calm(wide[0]), wide[0])
    assert Scaler.identity(X)(torch.full((1, 1, 2), 10 * HUGE)).max() == 10 * HUGE


def test_a_model_stays_as_it_was_before_a_segment_that_it_cannot_follow():
    rows = DATA.X.astype(np.float32)
    words = {"stream.scaler": "none", "replay.steps": 3, "labeler.fit.steps": 3}
    model = StreamClassifier("ours", overrides=words).fit(rows[:60], DATA.y[:60])
    model.adapt(rows[60:120])
    before = model.predict_proba(rows[120:180])
    with pytest.raises(UserError, match="cannot follow this segment of 60 rows and stays"):
        model.adapt(1e20 * rows[120:180])
    assert (model.predict_proba(rows[120:180]) == before).all() and len(model.history_) == 1
    other = StreamClassifier("ours", overrides=words).fit(rows[:60], DATA.y[:60])
    other.adapt(rows[60:120])
    assert (model.adapt(rows[120:180]) == other.adapt(rows[120:180])).all()
