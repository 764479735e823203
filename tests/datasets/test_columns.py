"""Columns to numbers: fitted on gold, kept as plain data; what does not fit is one sentence."""

import json

import numpy as np
import pandas as pd
import pytest

from sdsl.core import state
from sdsl.datasets.columns import Plan, prepare
from sdsl.errors import UserError


@pytest.fixture
def gold() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "x": [1.0, 2.0, np.nan, 6.0],
            "n": [1, 2, 3, 4],
            "flag": [True, False, True, True],
            "site": ["a", "b", None, "b"],
            "when": pd.to_datetime(["2024-01-01 10:05", "2024-01-02 11:10"] * 2),
            "same": [7, 7, 7, 7],
            "class": ["u", "v", "u", "v"],
        }
    )


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """As a CSV file gives it."""
    return frame.astype(object).where(frame.notna(), "").astype(str)


@pytest.mark.parametrize("make", [lambda f: f, as_text])
def test_every_kind_of_column(gold, make):
    plan = prepare(make(gold), "class")
    assert [c.kind for c in plan.columns] == [
        *("number", "number", "number" if make is not as_text else "category"),
        *("category", "time", "number"),
    ]
    X = pd.DataFrame(plan.transform(make(gold)), columns=plan.features)
    assert X["x"].tolist() == [1, 2, 2, 6]  # the median of 1, 2, 6
    assert X["n"].tolist() == [1, 2, 3, 4]
    assert X["site=a"].tolist() == [1, 0, 0, 0] and X["site=b"].tolist() == [0, 1, 1, 1]
    assert X["when_hour"].tolist() == [10, 11, 10, 11] and X["when_minute"].tolist() == [5, 10] * 2
    assert "same" not in X and "when_year" not in X and X.dtypes.eq(np.float32).all()
    told = "\n".join(plan.told())
    assert "x: a number; 1 missing in gold, filled with the median" in told
    assert "same: constant in gold, left out" in told and "site: 2 categories" in told


def test_a_plan_is_plain_data(gold, tmp_path):
    plan = prepare(gold, "class")
    json.dumps(plan.plain())
    state.save_state(tmp_path / "plan", plan.plain())
    again = Plan.from_plain(state.load_state(tmp_path / "plan"))
    later = gold.drop(columns="class").assign(x=[np.nan, 1, 1, 1])
    assert again == plan and (again.transform(later) == plan.transform(later)).all()


def test_scikit_learn_gives_the_same(gold):
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=50), "c": rng.choice(["p", "q", "r"], 50)})
    frame.loc[::7, "x"] = np.nan
    frame.loc[::9, "c"] = None
    theirs = make_column_transformer(
        (SimpleImputer(strategy="median"), ["x"]),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent", missing_values=None),
                OneHotEncoder(sparse_output=False),
            ),
            ["c"],
        ),
    ).fit(frame)
    plan = prepare(frame.assign(y=1), "y")
    later = frame[::-1].reset_index(drop=True)
    assert (plan.transform(later) == theirs.transform(later).astype(np.float32)).all()


def test_use_and_drop(gold):
    assert prepare(gold, "class", drop=["site", "when"]).features == ["x", "n", "flag"]
    plan = prepare(gold, "class", use=["n", "x"])
    assert plan.features == ["n", "x"]
    assert plan.transform(gold[["x", "n"]]).shape == (4, 2)  # what is not used may be missing
    with pytest.raises(UserError, match=r"no column 'sit'.*Did you mean 'site'"):
        prepare(gold, "class", drop=["sit"])
    with pytest.raises(UserError, match="no column left"):
        prepare(gold, "class", drop=["x", "n", "flag", "site", "when", "same"])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.assign(site=["a", "zoo", "b", "b"]), "category 'zoo' was not in gold"),
        (lambda f: f.drop(columns="n"), "column n is missing"),
        (lambda f: f.assign(extra=1), "column extra was not in gold"),
        (
            lambda f: f.assign(n=["1", "2", "three", "4"]),
            "column n, row 3: a number in gold, 'three'",
        ),
        (lambda f: f.assign(n=f.when), "column n: a number in gold, a time here"),
        (lambda f: f.assign(when=["noon"] * 4), "column when, row 1: a time in gold, 'noon'"),
        (lambda f: f.assign(site=f.when), "column site: a category in gold, a time here"),
        (lambda f: f.assign(n=[1e300, 1, 1, 1]), "row 1, column n: too large"),
    ],
)
def test_what_does_not_fit_is_one_sentence(gold, change, sentence):
    plan = prepare(gold, "class")
    with pytest.raises(UserError) as error:
        plan.transform(change(gold))
    assert sentence in str(error.value)


@pytest.mark.parametrize("rows", [2, 40, 88, 500])
@pytest.mark.parametrize("spelling", ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M"])
def test_times_are_told_from_categories(rows, spelling):
    """skrub alone takes 88 times of three days for categories."""
    times = pd.Series(pd.date_range("2024-01-30", periods=rows, freq="37min"))
    frame = pd.DataFrame({"when": times.dt.strftime(spelling), "x": range(rows), "y": 1})
    plan = prepare(frame, "y")
    assert plan.columns[0].kind == "time"
    X = pd.DataFrame(plan.transform(frame), columns=plan.features)
    assert X["when_minute"].tolist() == times.dt.minute.tolist()


def test_texts_that_are_no_categories_are_refused():
    frame = pd.DataFrame({"id": [f"n{i}" for i in range(200)], "y": 1})
    with pytest.raises(UserError, match=r"200 different texts .* drop=\[id\]"):
        prepare(frame, "y")


def test_a_column_without_any_value_is_left_out():
    frame = pd.DataFrame({"x": [1.0, 2.0], "gone": [np.nan, np.nan], "y": [0, 1]})
    plan = prepare(frame, "y")
    assert plan.features == ["x"] and plan.transform(frame.assign(gone=5)).tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("hours", "left"),
    [
        (12, ["when_minute"]),
        (50, ["when_hour", "when_minute"]),
        (120, ["when_hour", "when_minute"]),
    ],
)
def test_a_part_of_a_time_that_gold_has_not_seen_come_round_is_left_out(hours, left):
    """Else a gold of one day would make every later weekday a drift of its own."""
    times = pd.date_range("2024-01-01", periods=10 * hours, freq="6min")
    frame = pd.DataFrame({"when": times, "x": range(10 * hours), "y": 1})
    plan = prepare(frame, "y")
    if hours == 120:  # a working week
        left = ["when_weekday", *left]
    assert sorted(plan.features) == sorted(["x", *left])
    day = pd.DataFrame({"when": ["2024-01-01", "2024-01-02"], "x": [1, 2], "y": [0, 1]})
    assert "when: a time of which gold spans too little, left out" in prepare(day, "y").told()
    with pytest.raises(UserError, match="spans too little time"):
        prepare(day.drop(columns="x"), "y")
