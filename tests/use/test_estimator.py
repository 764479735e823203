"""StreamClassifier: scikit-learn's checks, inputs of every kind, and nothing that surprises."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import support
from label_command import BLIND, PRIVILEGED
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sdsl.core.finite import NotFinite
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier

QUICK = {"learner.pretrain.steps": 100, "labeler.fit.steps": 50}


@parametrize_with_checks([StreamClassifier("ours", overrides=QUICK)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_it_follows_a_drift_that_a_fixed_model_loses():
    table = support.blobs(rows=1600, classes=2, drift=3.0)
    (X0, y0), *rest = zip(np.split(table.X, 16), np.split(table.y, 16), strict=True)
    right = {}
    for method in ("ours", "tracker", "st"):
        model = StreamClassifier(method).fit(X0, y0)
        right[method] = np.mean([model.adapt(X) == y for X, y in rest])
    assert right["st"] < 0.75 and min(right["ours"], right["tracker"]) > 0.95


def test_any_kind_of_table_gives_the_same_bits(quick, turning):
    pl = pytest.importorskip("polars")
    kinds = {
        "array": lambda X: X,
        "double": lambda X: X.astype(float),
        "list": lambda X: X.tolist(),
        "pandas": lambda X: pd.DataFrame(X, columns=list("wxyz")),
        "polars": lambda X: pl.DataFrame(X, schema=list("wxyz")),
    }
    found = {}
    for kind, make in kinds.items():
        model = quick("ours", make(turning[0][0]), turning[0][1])
        labels = np.concatenate([model.adapt(make(X)) for X, _ in turning[1:4]])
        found[kind] = labels.tolist(), model.predict_proba(make(turning[4][0])).tobytes()
    assert all(one == found["array"] for one in found.values())


def test_columns_of_a_frame_may_be_text_times_and_have_gaps(quick, turning, tmp_path):
    def frame(X, y):
        day = pd.date_range("2024-01-01", periods=len(X), freq="7h")
        return pd.DataFrame(X[:, :2], columns=["u", "v"]).assign(
            hue=np.where(y == "ant", "red", "blue"), when=day, v=np.where(X[:, 1] > 2, np.nan, 1.0)
        )

    gold, *rest = [frame(X, y) for X, y in turning]
    model = quick("tracker", gold, turning[0][1])
    right = [(model.adapt(X) == y).mean() for X, (_, y) in zip(rest, turning[1:], strict=True)]
    assert np.mean(right) > 0.6  # red tells the ants
    model.save(tmp_path / "m.sdsl")
    again = StreamClassifier.load(tmp_path / "m.sdsl")
    assert (again.predict_proba(gold) == model.predict_proba(gold)).all()
    with pytest.raises(UserError, match="green"):
        model.adapt(rest[0].assign(hue="green"))
    assert len(model.history_) == len(rest)


def test_feature_names_are_checked_on_every_call(quick, turning):
    """Those of pandas are by scikit-learn's conventions."""
    pl, (X, y) = pytest.importorskip("polars"), turning[0]
    model = quick("ours", pl.DataFrame(X, schema=list("wxyz")), y)
    assert list(model.feature_names_in_) == list("wxyz")
    for names in ("wxzy", "wxyq"):
        for ask in (model.adapt, model.predict, model.predict_proba):
            with pytest.raises(ValueError, match="feature names"):
                ask(pl.DataFrame(X, schema=list(names)))
    assert not len(model.history_)  # nothing half done


@pytest.mark.parametrize(
    "labels", [["b", "a", "c"], [3, 1, 2], [True, False, True], np.array(["b", "a", "c"], object)]
)
def test_labels_of_every_kind(quick, turning, tmp_path, labels):
    y = np.array(labels)[np.searchsorted(["ant", "bee", "cow"], turning[0][1])]
    model = quick("ours", turning[0][0], y)
    given = model.adapt(turning[1][0])
    assert set(given) <= set(y) and given.dtype == y.dtype
    model.save(tmp_path / "m.sdsl")
    again = StreamClassifier.load(tmp_path / "m.sdsl")
    assert again.classes_.dtype == model.classes_.dtype
    assert (again.predict(turning[2][0]) == model.predict(turning[2][0])).all()


@pytest.mark.parametrize("method", BLIND)
def test_segments_of_every_length(method, quick, turning):
    X = np.concatenate([x for x, _ in turning[1:]])
    model = quick(method, *turning[0])
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
    (X, y), *rest = zip(np.split(table.X, 8), np.split(table.y, 8), strict=True)
    model = StreamClassifier().fit(X, y)
    for t, (X, y) in enumerate(rest, 1):
        kept = (y != 2) | (t not in (3, 4))
        right = (model.adapt(X[kept]) == y[kept]).mean()
        assert right > (0.8 if t == 5 else 0.9) or t in (3, 4), t  # 5: it comes back


def test_asking_changes_nothing(quick, turning):
    silent, asked = quick("ours", *turning[0]), quick("ours", *turning[0])
    for X, _ in turning[1:4]:
        asked.predict(X), asked.predict_proba(X), asked.score(X, turning[0][1])
        assert (asked.adapt(X) == silent.adapt(X)).all()
    assert (asked.predict_proba(X) == silent.predict_proba(X)).all()


@pytest.mark.parametrize("method", ["tracker", "ours", "scargc"])
def test_rows_far_from_anything_seen_have_no_certain_label(method, turning):
    model = StreamClassifier(method).fit(*turning[0])
    model.adapt(turning[1][0])
    near, far = model.predict_proba(turning[2][0]), model.predict_proba(30 * turning[2][0])
    assert near.max(1).mean() > 0.6 > 0.36 > far.max(1).max()
    assert (model.classes_[far.argmax(1)] == model.predict(30 * turning[2][0])).all()


def test_history(quick, turning):
    model = quick("ours", *turning[0])
    first = ["step", "rows", "seconds", "note", "warnings", "estimated_accuracy"]
    first += ["estimated_low", "estimated_high", "confidence", "drift", "far"]
    first += ["share_ant", "share_bee", "share_cow"]
    assert list(model.history_.columns) == first and not len(model.history_)
    labels = model.adapt(turning[1][0])
    assert list(model.history_.columns[:14]) == first and "memory_numbers" in model.history_
    assert model.history_.share_ant[0] == (labels == "ant").mean()


def test_late_labels_and_rows_without_one(turning, tmp_path):
    model = StreamClassifier("vote", abstain=0.9, ask=20, ask_by="doubt").fit(*turning[0])
    given = [model.adapt(X) for X, _ in turning[1:4]]
    empty = [np.mean(labels == None) for labels in given]  # noqa: E711
    assert model.history_.abstained.tolist() == empty and 0 < max(empty) < 1
    asked = model.to_check_
    assert set(asked.segment) == {1, 2, 3} and asked.correct_label.isna().all()
    true = [turning[s][1][row] for s, row in zip(asked.segment, asked.row, strict=True)]
    some = asked.assign(correct_label=true)[::2]
    for late in (model, model):  # given back twice, it counts once
        found = late.check(some, learn=late is not model)
    assert len(some) <= found["checked"] < 60 and len(model.to_check_) == len(asked) - len(some)
    right = np.mean([np.mean(model.predict(X) == y) for X, y in turning[1:4]])
    assert found["checked_low"] < right <= found["checked_high"]
    model.check(asked.assign(correct_label=true), learn=True)
    gold = model.follower_.gold
    assert len(gold) > 60 and len(model.to_check_) == 0
    model.save(tmp_path / "m.sdsl")
    again = StreamClassifier.load(tmp_path / "m.sdsl")
    assert (again.adapt(turning[4][0]) == model.adapt(turning[4][0])).all()
    assert again.history_.drop(columns="seconds").equals(model.history_.drop(columns="seconds"))
    with pytest.raises(UserError, match="Row 99 of segment 1 was not drawn"):
        model.check(pd.DataFrame({"segment": [1], "row": [99], "correct_label": ["ant"]}))


def test_overrides_and_seed_have_their_effect(turning):
    X, y = turning[0]
    model = StreamClassifier("st", overrides={"lookback.size": 5, "learner.hidden": [7]}).fit(X, y)
    model.adapt(turning[1][0])
    going = model.follower_.adaptation
    assert going.learner.sizes == (4, 7, 3) and len(going.lookback) == 5
    other = StreamClassifier("st", seed=1).fit(X, y)
    assert not (other.predict_proba(X) == StreamClassifier("st").fit(X, y).predict_proba(X)).all()
    named = StreamClassifier("ours", overrides={"labeler": "confidence"}).fit(X, y)
    assert type(named.follower_.adaptation.method.labeler).__name__ == "Confidence"


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        *[({"method": method}, "reads true labels") for method in PRIVILEGED],
        ({"method": "our"}, "Did you mean 'ours'"),
        ({"overrides": {"lookback.sizes": 5}}, "sizes"),
        ({"overrides": {"lookback.size": -1}}, "lookback.size=-1"),
        ({"overrides": {"labeler.rounds": "many"}}, "labeler.rounds='many'"),
        ({"overrides": {"dataset.segment_size": 5}}, "no effect"),
        ({"config_dir": "nowhere"}, "no such folder"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 1.5}, "seed=1.5"),
        ({"ask_by": "doubts"}, "ask_by='doubts'"),
        ({"y": np.zeros(60)}, "one class only"),
        ({"y": np.zeros(59)}, "inconsistent numbers of samples"),
        ({"X": np.full((60, 4), np.nan)}, "contains NaN"),
        ({"X": pd.DataFrame({"a": ["x"] * 60})}, "constant"),
    ],
)
def test_refusals(turning, made, sentence):
    X, y = made.pop("X", turning[0][0]), made.pop("y", turning[0][1])
    with pytest.raises((UserError, ValueError)) as refused:
        StreamClassifier(**({"method": "ours"} | made)).fit(X, y)
    assert sentence in str(refused.value)


def test_a_segment_that_breaks_the_model_leaves_it_as_it_was(turning):
    settings = {"stream.scaler": "none", "learner.pretrain.steps": 20, "replay.fit.steps": 20}
    model, calm = (StreamClassifier("pl_conf", overrides=settings).fit(*turning[0]) for _ in "ab")
    for t, bad in enumerate((False, True, False, True)):  # also as the very first segment
        X = turning[1 + t][0]
        for broken in [1e30 * X] * bad + [1e30 * X] * (t == 0):
            with pytest.raises(NotFinite, match="cannot follow this segment of 60 rows"):
                model.adapt(broken)
        assert (model.adapt(X) == calm.adapt(X)).all()
    assert (model.predict_proba(X) == calm.predict_proba(X)).all() and len(model.history_) == 4


def test_a_method_of_ones_own(turning, majority):
    model = StreamClassifier("majority", config_dir="conf").fit(*turning[0])
    assert set(model.adapt(turning[1][0])) == {"ant"}
    model.save("m.sdsl")
    with pytest.raises(UserError, match=r"modules=\['lab\.majority'\]"):
        StreamClassifier.load("m.sdsl")
    again = StreamClassifier.load("m.sdsl", modules=["lab.majority"])
    assert again.follower_.adaptation.method.labeler.seen == 1
    assert (again.adapt(turning[2][0]) == "ant").all()


def test_copies(quick, turning):
    model = quick("ours", *turning[0])
    model.adapt(turning[1][0])
    there = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    fresh = clone(model)
    assert not hasattr(fresh, "classes_") and fresh.get_params() == model.get_params()
    labels = model.adapt(turning[2][0])
    assert all((one.adapt(turning[2][0]) == labels).all() for one in there)
