"""StreamClassifier: scikit-learn's checks, inputs of every kind, and nothing that surprises."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import support
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier

EXPECTED = {
    "check_fit_score_takes_y": "it gives partial_fit labels after gold; those are refused, since "
    "no method can use late labels and dropping them silently would mislead"
}
QUICK = {"learner.pretrain.steps": 100, "labeler.fit.steps": 50}


@parametrize_with_checks(
    [StreamClassifier(overrides=QUICK)], expected_failed_checks=lambda estimator: EXPECTED
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_it_follows_a_drift_that_a_fixed_model_loses(turning):
    table = support.blobs(rows=1600, classes=2, drift=3.0)
    parts = np.split(np.arange(1600), 16)
    right = {}
    for method in ("ours", "st"):
        model = StreamClassifier(method).fit(table.X[parts[0]], table.y[parts[0]])
        right[method] = np.mean([model.adapt(table.X[p]) == table.y[p] for p in parts[1:]])
    assert right["ours"] > 0.95 > 0.75 > right["st"]


def test_any_kind_of_table_gives_the_same_bits(quick, turning):
    pl = pytest.importorskip("polars")
    columns = list("wxyz")
    kinds = {
        "array": lambda X: X,
        "double": lambda X: X.astype(float),
        "list": lambda X: X.tolist(),
        "pandas": lambda X: pd.DataFrame(X, columns=columns),
        "polars": lambda X: pl.DataFrame(X, schema=columns),
    }
    found = {}
    for kind, make in kinds.items():
        model = quick().fit(make(turning[0][0]), turning[0][1])
        labels = [model.adapt(make(X)) for X, _ in turning[1:4]]
        found[kind] = np.concatenate(labels), model.predict_proba(make(turning[4][0]))
    for labels, p in found.values():
        assert (labels == found["array"][0]).all() and (p == found["array"][1]).all()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_feature_names_are_checked_on_every_call(quick, turning, package):
    frame = pytest.importorskip(package).DataFrame
    good = frame(dict(zip("wxyz", turning[0][0].T, strict=True)))
    model = quick().fit(good, turning[0][1])
    assert list(model.feature_names_in_) == list("wxyz")
    for names in ("wxzy", "wxyq"):
        bad = frame(dict(zip(names, turning[1][0].T, strict=True)))
        for call in (model.adapt, model.partial_fit, model.predict, model.predict_proba):
            with pytest.raises(ValueError, match="feature names"):
                call(bad)
    assert not len(model.history_)  # nothing half done


@pytest.mark.parametrize(
    "labels", [["b", "a", "c"], [3, 1, 2], [True, False, True], np.array(["b", "a", "c"], object)]
)
def test_labels_of_every_kind(quick, turning, tmp_path, labels):
    y = np.array(labels)[np.searchsorted(["ant", "bee", "cow"], turning[0][1])]
    model = quick().fit(turning[0][0], y)
    given = model.adapt(turning[1][0])
    assert set(given) <= set(y) and given.dtype == y.dtype
    model.save(tmp_path / "m.sdsl")
    again = StreamClassifier.load(tmp_path / "m.sdsl")
    assert again.classes_.dtype == model.classes_.dtype
    assert (again.predict(turning[2][0]) == model.predict(turning[2][0])).all()


def test_segments_of_every_length(blind_method, quick, turning):
    X = np.concatenate([x for x, _ in turning[1:]])
    model = quick(blind_method).fit(*turning[0])
    at = 0
    for n in (1, 0, 2, 100, 7, 1, 0, 50):
        labels = model.adapt(X[at : at + n])
        assert len(labels) == n and set(labels) <= set(model.classes_)
        at += n
    history = model.history_
    assert history.rows.tolist() == [1, 0, 2, 100, 7, 1, 0, 50]
    assert history.step.tolist() == [1, 1, 2, 3, 4, 5, 5, 6]
    assert (history.warnings == "empty segment").tolist() == (history.rows == 0).tolist()
    p = model.predict_proba(X[:50])
    assert np.isfinite(p).all() and np.allclose(p.sum(1), 1)


def test_a_class_that_is_absent_for_a_while_is_found_again():
    table = support.blobs(rows=1200, classes=3, d=3, drift=0.3)
    parts = np.split(np.arange(1200), 8)
    model = StreamClassifier().fit(table.X[parts[0]], table.y[parts[0]])
    for t, p in enumerate(parts[1:], 1):
        p = p[table.y[p] != 2] if t in (3, 4) else p
        labels = model.adapt(table.X[p])
        if t not in (3, 4):
            assert (labels == table.y[p]).mean() > (0.8 if t == 5 else 0.9), t  # 5: it comes back


def test_asking_changes_nothing(quick, turning):
    silent, asked = quick().fit(*turning[0]), quick().fit(*turning[0])
    for X, _ in turning[1:4]:
        asked.predict(X), asked.predict_proba(X), asked.score(X, turning[0][1])
        assert (asked.adapt(X) == silent.adapt(X)).all()
    assert (asked.predict_proba(X) == silent.predict_proba(X)).all()


def test_rows_far_from_anything_seen(turning):
    for method in ("tracker", "ours", "scargc"):
        model = StreamClassifier(method).fit(*turning[0])
        model.adapt(turning[1][0])
        near, far = model.predict_proba(turning[2][0]), model.predict_proba(30 * turning[2][0])
        assert near.max(1).mean() > 0.6 > 0.36 > far.max(1).max()  # a third is all there is to say
        assert (model.classes_[far.argmax(1)] == model.predict(30 * turning[2][0])).all()
        assert model.history_.far_predicted.tolist() == [120]
        model.adapt(30 * turning[2][0])
        assert "unlike anything seen" in model.history_.warnings.iloc[-1]
        assert model.history_.far.tolist() == [0, 1]


def test_the_default_is_the_method_that_the_results_recommend():
    readme = (support.ROOT / "README.md").read_text()
    assert f"**Which method?** Start with `{StreamClassifier().method}`" in readme


def test_history(quick, turning):
    model = quick().fit(*turning[0])
    assert list(model.history_.columns) == [
        *("step", "rows", "gold_trust", "gold_weight", "drift"),
        *("share_ant", "share_bee", "share_cow", "confidence", "rounds", "seconds"),
        *("far", "far_predicted", "valley", "warnings"),
    ]
    labels = model.adapt(turning[1][0])
    row = model.history_.iloc[0]
    assert row.share_ant == (labels == "ant").mean() and row.seconds > 0 and row.rounds >= 1
    assert 0 <= row.gold_trust <= 1 and 0 < row.confidence <= 1


def test_the_default_method_reports_every_number(turning):
    model = StreamClassifier().fit(*turning[0])
    for X, _ in turning[1:4]:
        model.adapt(X)
    numbers = model.history_.drop(columns=["gold_weight", "warnings"])  # it does not weigh gold
    assert np.isfinite(numbers.to_numpy(dtype=float)).all()
    assert numbers["rounds"].ge(1).all() and numbers["rounds"].mod(1).eq(0).all()
    assert numbers["drift"].gt(0).all() and numbers["seconds"].gt(0).all()


def test_partial_fit_is_adapt(quick, turning):
    a, b = quick().fit(*turning[0]), quick().partial_fit(*turning[0])
    for X, _ in turning[1:3]:
        assert (a.adapt(X) == b.partial_fit(X)).all()
    with pytest.raises(ValueError, match="cannot use later ones"):
        a.partial_fit(*turning[3])
    with pytest.raises(UserError, match="no gold yet"):
        quick().partial_fit(turning[1][0])


def test_what_cannot_work_is_refused_at_fit(turning, tmp_path):
    X, y = turning[0]
    for method in ("jt", "oracle_labels", "static_bound"):
        with pytest.raises(UserError, match="reads true labels"):
            StreamClassifier(method).fit(X, y)
    with pytest.raises(UserError, match="Did you mean 'ours'"):
        StreamClassifier("our").fit(X, y)
    with pytest.raises(UserError, match="no parameter 'sizes'"):
        StreamClassifier(overrides={"lookback.sizes": 5}).fit(X, y)
    with pytest.raises(UserError, match="out of range"):
        StreamClassifier(overrides={"lookback.size": -1}).fit(X, y)
    with pytest.raises(UserError, match="no effect"):
        StreamClassifier(overrides={"dataset.segment_size": 5}).fit(X, y)
    with pytest.raises(UserError, match="no such folder"):
        StreamClassifier(config_dir=tmp_path / "none").fit(X, y)
    with pytest.raises(UserError, match="seed=-1"):
        StreamClassifier(seed=-1).fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        StreamClassifier().fit(X, np.zeros(len(X)))


def test_overrides_and_seed_have_their_effect(turning):
    X, y = turning[0]
    model = StreamClassifier("st", overrides={"lookback.size": 5, "learner.hidden": [7]}).fit(X, y)
    model.adapt(turning[1][0])
    going = model.following_.adapting
    assert going.learner.sizes == (4, 7, 3) and going.lookback.X.shape[1] == 5
    other = StreamClassifier("st", seed=1).fit(X, y)
    assert not (other.predict_proba(X) == StreamClassifier("st").fit(X, y).predict_proba(X)).all()


def test_a_method_of_ones_own(turning, tmp_path, monkeypatch):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "majority.py").write_text(MAJORITY)
    for group, text in {"labeler": "name: lab.majority\n", "method": METHOD}.items():
        (tmp_path / "conf" / group).mkdir(parents=True)
        (tmp_path / "conf" / group / "majority.yaml").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    model = StreamClassifier("majority", config_dir=tmp_path / "conf").fit(*turning[0])
    assert set(model.adapt(turning[1][0])) == {"ant"}
    model.save(tmp_path / "m.sdsl")
    with pytest.raises(UserError, match=r"modules=\['lab\.majority'\]"):
        StreamClassifier.load(tmp_path / "m.sdsl")
    again = StreamClassifier.load(tmp_path / "m.sdsl", modules=["lab.majority"])
    assert again.following_.adapting.method.labeler.seen == 1
    assert (again.adapt(turning[2][0]) == "ant").all()


MAJORITY = """
from dataclasses import dataclass
import torch
from sdsl.api import Labeler, Pseudo, Rows

@dataclass
class Majority(Labeler):
    def start(self, gold, learner, draws):
        self.seen = 0

    def label(self, step, learner):
        self.seen += 1
        y = torch.zeros(step.X.shape[:2], dtype=torch.long)
        return Pseudo(y, Rows.full(step.X, y))
"""
METHOD = """# @package _global_
defaults:
  - override /labeler: majority
  - override /replay: none
method:
  name: majority
"""


def test_copies(quick, turning):
    model = quick().fit(*turning[0])
    model.adapt(turning[1][0])
    there = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    fresh = clone(model)
    assert not hasattr(fresh, "classes_") and fresh.get_params() == model.get_params()
    labels = model.adapt(turning[2][0])
    assert all((one.adapt(turning[2][0]) == labels).all() for one in there)


@pytest.mark.parametrize("method", ["ours", "tracker"])
def test_a_row_alone_does_not_end_a_model(method):
    """What is kept of a segment of two rows cannot stand for gold."""
    rng = np.random.default_rng(0)

    def segment(t, n=120):
        y = rng.integers(0, 2, n)
        return rng.normal(size=(n, 2)) + np.c_[4 * y + 0.3 * t, np.full(n, 0.2 * t)], y

    model = StreamClassifier(method).fit(*segment(0))
    for t in range(1, 4):
        X, y = segment(t)
        model.adapt(X)
    model.adapt(X[:1])
    model.adapt(X[1:3])
    X, y = segment(4)
    assert (model.adapt(X) == y).mean() > 0.85
