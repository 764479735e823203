"""python -m sdsl.label: what it writes, what it does again, and what it refuses."""

import gzip
import json
import os
import re
import signal
import threading
import time

import cli
import numpy as np
import pandas as pd
import pytest
import support
from sklearn.metrics import balanced_accuracy_score

from sdsl.estimator import StreamClassifier
from sdsl.label import main

SHORT = ("method=pl_conf", "learner.pretrain.steps=60", "replay.fit.steps=30")
NAMES = np.array(["ant", "bee", "cow"])


@pytest.fixture
def table() -> pd.DataFrame:
    data = support.blobs(rows=420, classes=3, d=3, drift=0.5)
    return pd.DataFrame(data.X, columns=list("abc")).assign(kind=NAMES[data.y])


@pytest.fixture
def days(here, table):
    """gold.csv, and in/ with five days: three without labels, Parquet, gzip."""
    (here / "in").mkdir()
    table[:60].to_csv("gold.csv", index=False)
    for i in range(1, 6):
        part = table[60 * i : 60 * i + 60]
        part = part if i in (2, 4) else part.drop(columns="kind")
        if i == 3:
            part.to_parquet("in/day3.parquet", index=False)
        else:
            part.to_csv(f"in/day{i}.csv{'.gz' if i == 4 else ''}", index=False)
    return here


def call(*words, files="files=in", out="out=done") -> int:
    """The exit status; the words that every call needs are added."""
    try:
        main(["gold=gold.csv", files, "label=kind", out, *SHORT, *words])
    except SystemExit as stop:
        return stop.code
    return 0


def read(path) -> pd.DataFrame:
    return pd.read_parquet(path) if str(path).endswith("parquet") else pd.read_csv(path)


def labels(folder="done", count=5) -> pd.Series:
    files = sorted(p for p in os.listdir(folder) if not p.startswith("."))
    assert len(files) == count
    return pd.concat([read(f"{folder}/{name}") for name in files], ignore_index=True)


def deployment_runs():
    found = cli.client().get_experiment_by_name("sdsl-label")
    return cli.client().search_runs([found.experiment_id])


def test_every_file_is_labelled_once(days, table, capfd):
    assert call() == 0
    found = labels()
    assert (found.label.to_numpy() == table.kind[60:360].to_numpy()).mean() > 0.95
    assert found.confidence.between(0, 1).all()
    assert list(read("done/day1.csv").columns) == ["a", "b", "c", "label", "confidence"]
    packed = gzip.decompress((days / "done" / "day4.csv.gz").read_bytes())
    assert packed.startswith(b"a,b,c,kind,label,confidence\n")
    out, err = capfd.readouterr()
    assert "a: a number" in err and "day3.parquet: 60 rows" in err
    assert re.search(r"day1.csv: 60 rows in .* s, 4 files to go, \d+:\d\d left", err)
    assert ", 1 file to go" in err
    (run,) = deployment_runs()
    assert err.splitlines()[-2] == f"1 run: {run.info.run_id}"
    where = f"attributes.run_id%20%3D%20%27{run.info.run_id}%27"
    assert err.splitlines()[-1].endswith(f"/#/experiments/1/runs?searchFilter={where}")
    assert "class shares" in out and "accuracy" in out and "day5.csv" in out
    before = {name: os.stat(f"done/{name}").st_mtime_ns for name in os.listdir("done")}
    assert call() == 0
    out, err = capfd.readouterr()
    assert "Nothing new: 5 files" in out and "a: a number" not in err
    assert err.splitlines()[-2] == (
        f"1 run from the store, nothing was computed: {run.info.run_id}"
    )
    assert err.splitlines()[-1].endswith(f"/#/experiments/1/runs?searchFilter={where}")
    assert before == {name: os.stat(f"done/{name}").st_mtime_ns for name in os.listdir("done")}


def test_what_was_there_stays_as_it_was(days):
    text = "a,b,c,note\n1.500,-0.10,1e-3,é;x\n2,3,4,\n"
    (days / "in" / "day9.csv").write_text(text)
    pd.read_csv("gold.csv").assign(note="é;x").to_csv("gold.csv", index=False)
    assert call("drop=[note]", files="files=in/day9.csv") == 0
    lines = (days / "done" / "day9.csv").read_text().splitlines()
    assert lines[1].startswith("1.500,-0.10,1e-3,é;x,") and lines[2].startswith("2,3,4,,")


def test_days_that_come_one_by_one_or_at_once_give_the_same(days):
    assert call(out="out=at_once") == 0
    os.rename("in", "later")
    os.mkdir("in")
    for name in sorted(os.listdir("later")):
        os.rename(f"later/{name}", f"in/{name}")
        assert call() == 0
    assert labels().equals(labels("at_once"))
    first, second = (StreamClassifier.load(f"{f}/.sdsl/state.sdsl") for f in ("at_once", "done"))
    drop = ["seconds"]
    assert first.history_.drop(columns=drop).equals(second.history_.drop(columns=drop))


def test_the_class_gives_the_same_labels(days, table):
    assert call("seed=4") == 0
    overrides = {"learner.pretrain.steps": 60, "replay.fit.steps": 30}
    model = StreamClassifier("pl_conf", seed=4, overrides=overrides)
    X = pd.concat([pd.read_csv("gold.csv"), *map(read, sorted_inputs())], ignore_index=True)
    X = X[["a", "b", "c"]]
    model.fit(X[:60], table.kind[:60])
    mine = [model.adapt(X[60 * i : 60 * i + 60]) for i in range(1, 6)]
    assert (labels().label == np.concatenate(mine)).all()
    state = StreamClassifier.load("done/.sdsl/state.sdsl")
    assert (state.predict(X[:50]) == model.predict(X[:50])).all()


def sorted_inputs():
    return [f"in/{name}" for name in sorted(os.listdir("in"))]


def test_one_run_in_mlflow_is_continued(days):
    os.rename("in/day5.csv", "day5.csv")
    assert call() == 0
    os.rename("day5.csv", "in/day5.csv")
    assert call() == 0
    (run,) = deployment_runs()
    assert run.info.status == "FINISHED" and run.data.tags["kind"] == "deployment"
    assert run.data.params["method"] == "pl_conf"
    history = StreamClassifier.load("done/.sdsl/state.sdsl").history_
    for name in ("drift", "gold_trust", "share_ant", "confidence", "rows"):
        points = cli.client().get_metric_history(run.info.run_id, name)
        assert [p.step for p in points] == [1, 2, 3, 4, 5]
        assert np.allclose([p.value for p in points], history[name])
    scored = cli.client().get_metric_history(run.info.run_id, "accuracy")
    assert [p.step for p in scored] == [2, 4]
    balanced = cli.client().get_metric_history(run.info.run_id, "balanced_accuracy")
    assert [p.step for p in balanced] == [2, 4]
    labelled = read("done/day4.csv.gz")
    expected = balanced_accuracy_score(labelled.kind, labelled.label)
    assert balanced[1].value == pytest.approx(expected)
    assert "a: a number" in cli.artifact(run, "columns.txt").read_text()


def test_alarms_are_in_the_table_and_in_mlflow(days, table, capfd):
    far = table[180:240].drop(columns="kind") + 50
    far.to_parquet("in/day3.parquet", index=False)
    assert call() == 0
    shown = " ".join(capfd.readouterr().out.split())  # long cells are folded
    assert "unlike anything seen" in shown[shown.index("day3.parquet") : shown.index("day4.csv")]
    (run,) = deployment_runs()
    said = cli.artifact(run, "warnings.txt").read_text().splitlines()
    assert any(text.startswith("segment 3: ") and "unlike anything" in text for text in said)
    points = cli.client().get_metric_history(run.info.run_id, "warnings")
    history = StreamClassifier.load("done/.sdsl/state.sdsl").history_
    assert [p.value > 0 for p in points] == (history.warnings != "").tolist()


def test_what_a_call_could_not_log_the_next_one_does(days, capfd):
    assert call("tracking.uri=sqlite:///gold.csv/mlflow.db") == 0
    assert "Not logged" in capfd.readouterr().err and len(labels()) == 300
    assert call() == 0  # with no new file
    assert "Nothing new" in capfd.readouterr().out
    (run,) = deployment_runs()
    points = cli.client().get_metric_history(run.info.run_id, "rows")
    assert [p.step for p in points] == [1, 2, 3, 4, 5]


def test_gold_and_files_in_one_file(here, table):
    mixed = table.copy()
    mixed.loc[60:, "kind"] = ""
    mixed.to_csv("gold.csv", index=False)
    assert call("segment_size=60", files="files=gold.csv") == 0
    done = pd.read_csv("done/gold.csv")
    assert len(done) == 420 and (done.label == table.kind).mean() > 0.95
    assert (done.label[:60] == table.kind[:60]).all() and (done.confidence[:60] == 1).all()
    history = StreamClassifier.load("done/.sdsl/state.sdsl").history_
    assert history.rows.tolist() == [60] * 6


def test_segments_across_files(days):
    assert call("segment_size=100") == 0
    history = StreamClassifier.load("done/.sdsl/state.sdsl").history_
    assert history.rows.tolist() == [100, 100, 100] and len(labels()) == 300


def test_gold_among_the_files_is_no_segment(days):
    os.rename("gold.csv", "in/a_gold.csv")
    main(["gold=in/a_gold.csv", "files=in/*.csv", "label=kind", "out=done", *SHORT])
    assert sorted(os.listdir("done")) == [".sdsl", "day1.csv", "day2.csv", "day5.csv"]


def test_numbers_as_labels_and_a_column_called_label(here, table):
    codes = table.kind.map({"ant": 1, "bee": 2, "cow": 10})
    frame = table.drop(columns="kind").assign(label=codes)
    frame[:60].to_parquet("gold.parquet")
    os.mkdir("in")
    frame[60:120].to_parquet("in/a.parquet")
    main(["gold=gold.parquet", "files=in", "label=label", "out=done", *SHORT])
    done = pd.read_parquet("done/a.parquet")
    assert list(done.columns) == ["a", "b", "c", "label_given", "label", "confidence"]
    assert (done.label == codes[60:120].to_numpy()).mean() > 0.95 and done.label.dtype == np.int64


def test_files_that_cannot_be_read_are_set_aside(days, capfd):
    (days / "in" / "day2b.csv").write_text("a,b,c\n1,2\n")
    (days / "in" / "day2c.parquet").write_bytes(b"PAR1 and no more")
    (days / "in" / "day2d.csv.gz").write_bytes(gzip.compress(b"a,b,c\n1,2,3\n")[:-9])
    (days / "in" / "day2e.csv").write_text("a,b,d\n1,2,3\n")
    assert call() == 0
    out = capfd.readouterr().out
    assert out.count("set aside: day2") == 4 and "column c is missing" in out
    assert len(labels()) == 300  # the rest went on, and nothing half-written is there
    assert call() == 0
    assert "set aside" not in capfd.readouterr().out  # it has been said
    (days / "in" / "day2e.csv").write_text("a,b,c\n1,2,3\n")
    assert call() == 0  # mended
    assert len(read("done/day2e.csv")) == 1
    (run,) = deployment_runs()
    assert "day2b.csv" in cli.artifact(run, "set_aside.txt").read_text()


def test_a_column_that_came_later_can_be_left_out_as_the_message_says(days, table, capfd):
    later = table[360:420].drop(columns="kind").assign(extra=1)
    later.to_csv("in/day6.csv", index=False)
    assert call() == 0
    assert "drop=[extra] leaves it out" in capfd.readouterr().out
    before = {name: (days / "done" / name).read_bytes() for name in ("day1.csv", "day5.csv")}
    assert call("drop=[extra]") == 0  # the same folder goes on
    assert len(read("done/day6.csv")) == 60
    assert before == {name: (days / "done" / name).read_bytes() for name in before}
    assert call("drop=[extra]") == 0 and "Nothing new" in capfd.readouterr().out
    assert call("drop=[extra,a]") == 2 and "was begun with" in capfd.readouterr().err
    assert call("drop=[exxtra]") == 2 and "no column 'exxtra'" in capfd.readouterr().err
    assert call("drop=[extra]", out="out=new") == 0 and len(labels("new", 6)) == 360


def test_a_file_set_aside_is_named_once(days, capfd):
    (days / "in" / "day0.csv").write_bytes(bytes(range(128, 256)) * 9)
    assert call() == 0
    assert "set aside: day0.csv, line 1: not UTF-8" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nonsense"], "expected key=value"),
        (["segmnt_size=5"], "Did you mean 'segment_size'"),
        (["segment_size=0"], "out of range"),
        (["seed=x"], "seed"),
        (["method=jt"], "reads true labels"),
        (["method=our"], "Did you mean"),
        (["lookback.sizes=3"], "no parameter 'sizes'"),
        (["gold=none.csv"], "none.csv: no such file"),
        (["label=nothing"], "no column 'nothing'"),
        (["files=nowhere/*.csv"], "there is no such file"),
        (["drop=[zzz]"], "no column 'zzz'"),
    ],
)
def test_refusals_are_one_sentence_and_write_nothing(days, words, sentence, capfd):
    assert call(*words) == 2
    err = capfd.readouterr().err
    assert sentence in err and "Traceback" not in err and len(err) < 2500
    assert not [name for name in os.listdir(".") if name == "done"] or not os.listdir("done")[1:]


def test_another_method_needs_another_folder(days, capfd):
    assert call() == 0
    for word in ("seed=1", "lookback.size=7", "segment_size=5"):
        assert call(word) == 2
        assert "was begun with" in capfd.readouterr().err
    pd.read_csv("gold.csv")[:50].to_csv("gold.csv", index=False)
    assert call() == 2 and "other gold rows" in capfd.readouterr().err


def test_a_changed_file_is_mentioned_not_labelled_again(days, capfd):
    assert call() == 0
    before = (days / "done" / "day1.csv").read_bytes()
    with open("in/day1.csv", "a") as file:
        file.write("1,2,3\n")
    assert call() == 0
    assert "day1.csv was changed after" in capfd.readouterr().err
    assert (days / "done" / "day1.csv").read_bytes() == before


def test_two_at_once_are_refused(days, capfd):
    from filelock import FileLock

    os.makedirs("done/.sdsl")
    with FileLock("done/.sdsl/lock"):
        assert call() == 2
    assert "Another sdsl.label is at work" in capfd.readouterr().err


def test_watching(days, capfd):
    os.rename("in/day5.csv", "day5.csv")

    def later():
        wait(lambda: os.path.exists("done/day4.csv.gz"))
        os.rename("day5.csv", "in/day5.csv")
        wait(lambda: os.path.exists("done/day5.csv"))
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    for name in os.listdir("in"):
        os.utime(f"in/{name}", (1, 1))
    os.utime("day5.csv", (1, 1))
    threading.Thread(target=later, daemon=True).start()
    assert call("watch=true", "every=0.2") == 0
    assert len(labels()) == 300 and "day5.csv" in capfd.readouterr().out


def wait(condition):
    end = time.monotonic() + 120
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)


def test_help_is_quick_and_complete(capfd):
    main(["--help"])
    out = capfd.readouterr().out
    assert "gold=FILE" in out and "segment_size" in out


def test_the_state_can_be_read_without_running_anything(days):
    assert call() == 0
    data = (days / "done" / ".sdsl" / "state.sdsl").read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert json.loads(data[8 : 8 + length])["__metadata__"]["format"] == "sdsl state"


def test_a_file_that_the_model_cannot_follow_is_set_aside(days, capsys):
    good = pd.read_csv("in/day2.csv")
    good.assign(a=good.a * 1e30).to_csv("in/day2.csv", index=False)
    assert call("stream.scaler=none") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cannot follow this segment of 60 rows and stays as it was" in said
    assert labels(count=4).confidence.notna().all()  # the other four are labelled
    assert call("stream.scaler=none") == 0 and "day2.csv" not in os.listdir("done")
    good.to_csv("in/day2.csv", index=False)  # mended: it is new again
    assert call("stream.scaler=none") == 0
    labels(count=5)
