"""Metrics that weigh every class the same: in the store, in files, checked by verify."""

import csv

import numpy as np
import pytest
from cli import artifact, call, client, runs, stored
from mlflow.entities import Metric

from sdsl.core import confusion
from sdsl.tracking.confusion_files import write
from sdsl.tracking.metric_names import per_class
from sdsl.verify import main, verify

RARE = ("dataset=dev/shapes", "dataset.shares=[95,5]", "dataset.segments=5")
LINE = ("method=pl_conf", *RARE, "learner.pretrain.steps=5", "replay.fit.steps=3", "seed=10")


@pytest.fixture
def run(here):
    assert call(*LINE) == 0
    return runs()[0]


def test_a_run_logs_them_and_they_follow_from_its_counts(run):
    steps, last = np.load(artifact(run, "confusion.npy")).astype(int)
    assert steps.shape == last.shape == (4, 2, 2)
    logged = run.data.metrics
    expected = confusion.summarise(steps, last).as_dict()
    assert {name: logged[name] for name in expected} == expected
    pooled = confusion.recall(steps.sum(0))
    assert [logged["recall_0"], logged["recall_1"]] == pooled.tolist()
    assert logged["acc_online"] == pytest.approx(np.trace(steps.sum(0)) / steps.sum())
    assert 0 <= logged["pseudo_label_balanced_acc_mean"] <= 1
    for name, points in (
        ("balanced_acc", confusion.balanced_accuracy(steps)),
        ("macro_f1", confusion.macro_f1(steps)),
        ("step_recall_1", confusion.recall(steps)[:, 1]),
    ):
        history = client().get_metric_history(run.info.run_id, name)
        known = [(t, v) for t, v in enumerate(points, 1) if np.isfinite(v)]
        assert [(p.step, p.value) for p in history] == known
    header = artifact(run, "curves.csv").read_text().splitlines()[0].split(",")
    assert {"balanced_acc", "macro_f1", "step_recall_0", "pseudo_label_balanced_acc"} <= {*header}


def test_the_last_step_as_a_table_and_a_figure(run):
    steps, _ = np.load(artifact(run, "confusion.npy"))
    head, *rows = csv.reader(artifact(run, "confusion.csv").read_text().splitlines())
    assert head == ["true class", "predicted 0", "predicted 1", "recall"]
    assert [list(map(int, row[1:3])) for row in rows] == steps[-1].tolist()
    assert artifact(run, "confusion.png").read_bytes().startswith(b"\x89PNG")


def test_verify_checks_them(run, capsys):
    assert verify(run.info.run_id).same
    file = stored(run, "confusion.npy")
    counts = np.load(file)
    np.save(file, counts + 1)
    client().log_batch(run.info.run_id, metrics=[Metric("balanced_acc_online", 0.99, 2**41, 10)])
    found = [line.split(":")[0] for line in verify(run.info.run_id).false_statements]
    assert found == ["confusion_sha256", "balanced_acc_online"]
    assert main([run.info.run_id]) == 1
    assert call(*LINE) == 0
    assert len(runs()) == 2, "a run whose counts were changed is done again"


def test_a_run_of_an_older_version_has_no_counts(run):
    client().delete_tag(run.info.run_id, "confusion_sha256")
    stored(run, "confusion.npy").unlink()
    assert verify(run.info.run_id).same
    assert call(*LINE) == 0
    assert len(runs()) == 1


def test_the_table_has_a_column_for_them_only_where_classes_are_unequal(here, capfd):
    assert call(*LINE) == 0
    (run,) = runs()
    out = capfd.readouterr().out
    assert "balanced" in out and f"{100 * run.data.metrics['balanced_acc_online']:.2f}" in out
    equal = [word.replace("[95,5]", "[50,50]") for word in LINE]
    assert call(*equal) == 0
    assert "balanced" not in capfd.readouterr().out


def test_names_that_mlflow_takes():
    classes = ["a/b", "a:b", "ü", "$x%", "long" * 100]
    names = per_class("recall", classes)
    assert names[:4] == ["recall_a_b", "recall_a_b_1", "recall_ü", "recall__x_"]
    assert len(set(names)) == 5 and max(map(len, names)) < 250


def test_classes_of_any_name_and_number(tmp_path):
    names = ["$a$", "b,c", "ü" * 40]
    steps = np.arange(9).reshape(1, 3, 3)
    write(tmp_path, steps, steps, names, "a $title")
    rows = list(csv.reader((tmp_path / "confusion.csv").read_text("utf-8").splitlines()))
    assert [row[0] for row in rows[1:]] == names
    assert (tmp_path / "confusion.png").exists()
    many = np.eye(31, dtype=int)[None]
    write(tmp_path / "..", many, many, [str(c) for c in range(31)], "no figure of 31 classes")
    assert not (tmp_path / ".." / "confusion.png").exists()
