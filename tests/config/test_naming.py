"""What a run is called: the label says every setting that is not the shipped one."""

import subprocess
import sys

import pytest

from sdsl.config import naming
from sdsl.config.compose import composed


def params(*overrides: str) -> dict[str, str]:
    """The settings of a command line as a run's params."""
    return naming.as_logged(composed(*overrides))


@pytest.mark.parametrize(
    ("method", "overrides", "label"),
    [
        ("ours", ["method=ours"], "ours"),
        ("ours", ["method=ours", "labeler=oracle"], "ours (labeler=oracle)"),
        ("ours", ["method=ours", "lookback.size=7"], "ours (lookback.size=7)"),
        (
            "ours",
            ["method=ours", "labeler=oracle", "lookback.size=7"],
            "ours (labeler=oracle, lookback.size=7)",
        ),
        # Equal to another method of conf/.
        ("jt", ["method=jt", "labeler=none", "replay=none"], "st"),
        ("ours", ["method=ours", "labeler=confidence"], "ours_pl"),
        ("ours", ["method=ours", "labeler=influence"], "ours_record"),
        # How a run is measured is no part of its method, unless it changes what Acc_T means.
        ("ours", ["method=ours", "eval.every=5", "probe=flatness"], "ours"),
        ("ours", ["method=ours", "eval.columns=5"], "ours (eval.columns=5)"),
        ("ours", ["method=ours", "dataset=spam", "seed.values=[3]"], "ours"),
        # conf/ has no such method.
        ("mine", ["method=ours", "lookback.size=7"], "mine"),
        ("<script>", ["method=ours"], "<script>"),
    ],
)
def test_what_a_run_is_called(method, overrides, label):
    assert naming.method_label(method, params(*overrides)) == label


def test_every_method_of_conf_is_called_by_its_name():
    for method in naming.known_methods():
        assert naming.method_label(method, params(f"method={method}")) == method


def test_a_setting_that_an_older_run_did_not_have_is_no_difference():
    older = params("method=ours")
    del older["lookback.select"]
    assert naming.method_label("ours", older) == "ours"


@pytest.mark.parametrize(
    ("overrides", "label"),
    [
        ([], "spam"),
        (["stream.prefix=calibrated"], "spam"),
        (["stream.max_segments=3"], "spam"),
        (["dataset.order=chronological"], "spam (order=chronological)"),
        (
            ["dataset.order=chronological", "stream.gold=record"],
            "spam (order=chronological, stream.gold=record)",
        ),
    ],
)
def test_what_a_stream_is_called(overrides, label):
    assert naming.stream_label("spam", params("dataset=spam", *overrides)) == label


def test_a_dataset_that_conf_does_not_have_keeps_its_name():
    assert naming.stream_label("my data", params("dataset=spam")) == "my data"


def test_where_the_rows_come_from_makes_no_other_stream():
    elsewhere = params("dataset=spam") | {"dataset.expect.rows": "1", "dataset.sources": "[]"}
    assert naming.stream_label("spam", elsewhere) == "spam"
    assert naming.config_sha256(elsewhere) == naming.config_sha256(params("dataset=spam"))


def test_a_config_is_named_whatever_its_seed_and_probe():
    name = naming.config_sha256(params("method=ours"))
    assert naming.config_sha256(params("method=ours", "seed.values=[9]", "probe=flatness")) == name
    for other in ("method=st", "dataset=spam", "lookback.size=7", "eval.columns=5"):
        assert naming.config_sha256(params(other)) != name


def test_a_long_value_is_compared_as_it_is_logged():
    long = naming.as_logged({"labeler": {"name": "x" * 7000}})
    assert long == {"labeler.name": "x" * 6000}


def test_naming_loads_neither_pandas_nor_matplotlib_nor_mlflow():
    heavy = "{'pandas', 'matplotlib', 'mlflow'}"
    ask = f"import sys, sdsl.config.naming; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
