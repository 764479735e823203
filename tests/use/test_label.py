"""python -m sdsl.label: what it writes, what it does again, and what it refuses."""

import gzip
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli import stored
from filelock import FileLock
from label_command import call, labelled, read
from mlflow import MlflowClient
from mlflow.entities import Run
from sklearn.metrics import balanced_accuracy_score

from sdsl.config import composed
from sdsl.estimator import StreamClassifier
from sdsl.tracking.address import store_uri
from sdsl.use.monitor import UNSEEN

STATE = "done/.sdsl/state.sdsl"


def deployment_run() -> Run:
    client = MlflowClient(store_uri(None))
    (run,) = client.search_runs([client.get_experiment_by_name("sdsl-label").experiment_id])
    return run


def points(name: str) -> list[tuple[int, float]]:
    """The curve of a number of the deployment."""
    client, run = MlflowClient(store_uri(None)), deployment_run()
    return [(p.step, p.value) for p in client.get_metric_history(run.info.run_id, name)]


def artifact(name: str) -> str:
    return stored(deployment_run(), name).read_text()


def history(folder: str = "done") -> pd.DataFrame:
    return StreamClassifier.load(f"{folder}/.sdsl/state.sdsl").history_.drop(columns="seconds")


def test_every_file_is_labelled_once(days, capfd):
    assert call() == 0
    found = labelled()
    assert (found.label.to_numpy() == days.kind[60:360].to_numpy()).mean() > 0.95
    assert found.confidence.between(0, 1).all()
    assert list(read("done/day1.csv").columns) == ["a", "b", "c", "label", "confidence"]
    packed = gzip.decompress(Path("done/day4.csv.gz").read_bytes())
    assert packed.startswith(b"a,b,c,kind,label,confidence\n")
    out, err = capfd.readouterr()
    assert "a: a number" in err and "files to go: 4" in err and "View in MLflow" in err
    assert out.count(": 60 rows in ") == 5 and out.count("accuracy") == 4
    before = {file.name: file.stat().st_mtime_ns for file in Path("done").iterdir()}
    assert call() == 0
    assert capfd.readouterr().out == "Nothing new: 5 files are labelled in done.\n"
    assert before == {file.name: file.stat().st_mtime_ns for file in Path("done").iterdir()}


def test_days_one_by_one_or_at_once_and_the_class_give_the_same_labels(days):
    assert call("out=at_once", "seed=4") == 0
    os.rename("in", "later")
    os.mkdir("in")
    for name in sorted(os.listdir("later")):
        os.rename(f"later/{name}", f"in/{name}")
        assert call("seed=4") == 0
    assert labelled().equals(labelled("at_once")) and history().equals(history("at_once"))
    overrides = {"learner.pretrain.steps": 60, "replay.fit.steps": 30}
    model = StreamClassifier("pl_conf", seed=4, overrides=overrides)
    model.fit(days[["a", "b", "c"]][:60], days.kind[:60])
    mine = [model.adapt(read(f"in/{name}")[["a", "b", "c"]]) for name in sorted(os.listdir("in"))]
    assert (labelled().label == np.concatenate(mine)).all()
    state = StreamClassifier.load(STATE)
    X = days[["a", "b", "c"]][360:]
    assert (state.predict(X) == model.predict(X)).all()


def test_one_run_in_mlflow_is_continued(days, table):
    os.rename("in/day5.csv", "day5.csv")
    gone = table[180:240][table.kind[180:240] != "bee"].drop(columns="kind")
    gone.to_parquet("in/day3.parquet", index=False)
    assert call("strict=true") == 4  # an alarm, all labelled
    os.rename("day5.csv", "in/day5.csv")
    assert call() == 0
    run = deployment_run()
    assert run.info.status == "FINISHED" and run.data.tags["kind"] == "deployment"
    assert run.data.params["method"] == "pl_conf"
    for name in ("drift", "share_ant", "confidence", "rows"):
        assert points(name) == [(i, pytest.approx(x)) for i, x in enumerate(history()[name], 1)]
    assert [step for step, _ in points("accuracy")] == [2, 4]
    day4 = read("done/day4.csv.gz")
    expected = balanced_accuracy_score(day4.kind, day4.label)
    assert points("balanced_accuracy")[1] == (4, pytest.approx(expected))
    assert "a: a number" in artifact("columns.txt")
    assert "segment 3: " in artifact("warnings.txt")
    assert history().warnings[2] == "class bee has vanished" and points("warnings")[2] == (3, 1.0)


def test_the_next_call_logs_segments_that_one_could_not(days, capfd):
    assert call("tracking.uri=sqlite:///gold.csv/mlflow.db") == 0
    assert "Not logged" in capfd.readouterr().err and len(labelled()) == 300
    assert call() == 0  # with no new file
    assert "Nothing new" in capfd.readouterr().out
    assert [step for step, _ in points("rows")] == [1, 2, 3, 4, 5]


def test_doubtful_rows_late_labels_and_the_estimate(days, capfd):
    """Rows are named as in their file; labels that were typed into to_check.csv stay there."""
    words = ("method=vote", "abstain=0.9", "segment_size=100", "ask=8")
    days.assign(kind=range(420)).to_csv("in/history.csv", index=False)
    shutil.copy("in/day1.csv", "in/day9.csv")
    os.rename("in/day5.csv", "day5.csv")
    assert call(*words) == 3  # two files are set aside
    out, err = capfd.readouterr()
    assert "estimated accuracy 0." in out and ", abstained 0." in out and UNSEEN in err
    assert "set aside: history.csv: sdsl.label writes a file of this name" in out
    assert "set aside: day9.csv: the same as day1.csv, and nothing is learnt twice." in out
    found = labelled(count=4)
    assert (found.label.isna() == (found.confidence < 0.9)).all() and found.label.isna().any()
    assert history().abstained.mean() == pytest.approx(found.label.isna().mean(), abs=0.01)
    assert Path("done/history.svg").read_text().startswith("<?xml")
    asked = pd.read_csv("done/to_check.csv", dtype=str)
    days.index -= 60  # of the rows of day1, day2, ...
    at = 60 * (asked.file.str[3].astype(int) - 1) + asked.row.astype(int) - 1
    true = days.kind[at].tolist()
    asked.assign(correct_label=true)[:10].to_csv("mine.csv", index=False)
    asked.assign(correct_label=true).to_csv("done/to_check.csv", index=False)
    os.rename("day5.csv", "in/day5.csv")
    assert call(*words, "checked=mine.csv", "learn=true") == 3
    assert "checked accuracy " in capfd.readouterr().out
    rest = pd.read_csv("done/to_check.csv", dtype=str)
    typed = rest.correct_label[rest.file != "day5.csv"]
    assert typed.tolist() == true[10:] and rest.correct_label[rest.file == "day5.csv"].isna().all()
    last = history().iloc[-1]
    assert last.checked >= 10 and last.checked_low <= last.checked_accuracy <= last.checked_high
    assert [step for step, _ in points("estimated_accuracy")] == [*range(1, len(history()) + 1)]


def test_gold_and_files_in_one_file(here, table, capfd):
    """A row in between without a label is no gold, and is labelled with those at the end."""
    mixed = table.assign(label=1.5, confidence=range(420))
    mixed.loc[[10, *range(60, 420)], "kind"] = ""
    mixed.to_csv("gold.csv", index=False)
    assert call("segment_size=60", "files=gold.csv", "drop=[label,confidence]") == 0
    err = capfd.readouterr().err
    assert "59 rows: 20 ant, 20 bee, 19 cow." in err and "left out of gold: 361." in err
    done, gold = pd.read_csv("done/gold.csv"), mixed.kind != ""
    assert len(done) == 420 and (done.label == table.kind).mean() > 0.95
    assert (done.label[gold] == table.kind[gold]).all() and (done.confidence[gold] == 1).all()
    assert (done.confidence[~gold] < 1).any() and done.confidence_given.tolist() == [*range(420)]
    assert history().rows.tolist() == [61, *[60] * 5] and (done.label_given == 1.5).all()


def test_small_files_are_joined_and_large_ones_are_cut(days, table):
    pd.concat([table] * 2)[["a", "b", "c"]].to_csv("in/day9.csv", index=False)
    assert call("segment_size=100") == 0
    assert history().rows.tolist() == [120, 120] + [100] * 9  # day5 and day9: 60 + 840 rows
    assert history().files[0] == "day1.csv, day2.csv" and len(labelled(count=6)) == 300 + 840


def test_numbers_as_labels_and_a_column_called_label(here, table):
    codes = table.kind.map({"ant": 1, "bee": 2, "cow": 10})
    frame = table.drop(columns="kind").assign(label=codes)
    frame[:60].to_parquet("gold.parquet")
    os.mkdir("in")
    frame[60:120].to_parquet("in/a.parquet")
    assert call("gold=gold.parquet", "label=label") == 0
    done = pd.read_parquet("done/a.parquet")
    assert list(done.columns) == ["a", "b", "c", "label_given", "label", "confidence"]
    assert (done.label == codes[60:120].to_numpy()).mean() > 0.95 and done.label.dtype == np.int64


def test_names_that_hydra_wants_in_quotes(days, table, capfd):
    """Gold that ends with a label is no segment, also if it is among the files."""
    os.mkdir("été=1, (a)")
    table.loc[table.index[table.kind == "cow"][:17], "kind"] = None
    table.rename(columns={"kind": "état, x"})[:60].to_csv("été=1, (a)/gold.csv", index=False)
    words = ["gold=été=1, (a)/gold.csv", "label=état, x"]
    words += ["files=[in/day1.csv, in/day3.parquet, 'été=1, (a)/gold.csv']"]
    assert call(*words, "out=été=2") == 0
    assert "Warning: 3 cow: a class with fewer than 5 rows" in capfd.readouterr().err
    assert len(labelled("été=2", count=2)) == 120


def test_files_that_cannot_be_used_are_set_aside(days, capfd):
    Path("in/day0.csv").write_bytes(bytes(range(128, 256)) * 9)
    Path("in/day2b.csv").write_text("a,b,c\n1,2\n")
    Path("in/day2c.parquet").write_bytes(b"PAR1 and no more")
    Path("in/day2d.csv.gz").write_bytes(gzip.compress(b"a,b,c\n1,2,3\n")[:-9])
    Path("in/day2e.csv").write_text("a,b,d\n1,2,3\n")
    good = pd.read_csv("in/day2.csv")
    good.assign(a=good.a * 1e30).to_csv("in/day2.csv", index=False)
    assert call("stream.scaler=none") == 3
    out = capfd.readouterr().out
    assert out.count("set aside: day") == 6 and "column c is missing" in out
    assert "set aside: day0.csv: not a readable .csv: 'utf-8'" in out
    assert "day2.csv: The model cannot follow this segment of 60 rows and stays as it was" in out
    assert labelled(count=4).confidence.notna().all()  # the rest went on; nothing is half written
    assert call("stream.scaler=none") == 3
    assert "6 are still set aside" in capfd.readouterr().out
    Path("in/day2e.csv").write_text("a,b,c,extra\n1,2,3,4\n")  # a column that gold has not
    good.to_csv("in/day2.csv", index=False)
    assert call("stream.scaler=none") == 3  # mended: they are new again
    assert len(read("done/day2e.csv")) == 1 and len(labelled(count=6)) == 301
    assert "day2b.csv" in artifact("set_aside.txt") and "day2e" not in artifact("set_aside.txt")


def test_files_as_people_have_them(here, table, capfd):
    """Decimal commas, semicolons, Latin-1, ids, and cells and labels that gold lacks."""
    table = table.rename(columns={"c": "größe"}).assign(id=range(420), site=["é", "ü"] * 210)
    os.mkdir("in")
    table.loc[70, "site"], table.loc[71, "a"], table.loc[72, "kind"] = "new", np.inf, "dog"
    table.loc[12:14, "kind"] = None
    how = {"sep": ";", "decimal": ",", "index": False, "encoding": "latin-1"}
    table[:60].to_csv("gold.csv", **how)
    table[60:120].to_csv("in/day1.csv", **how)
    table[120:180].assign(kind="", site="new").to_csv("in/day2.csv", **how)
    assert call() == 2 and "encoding=latin-1" in capfd.readouterr().err
    assert call("encoding=latin-1", "files=in/day1.csv", "strict=true") == 0
    out, err = capfd.readouterr()
    assert "a: a number, decimals with a comma" in err and "id: only grows in gold" in err
    for remark in ("a: 1 of 60 cells infinite", "site: 1 of 60 cells not in gold ('new'), taken"):
        assert f"column {remark}" in out
    assert "1 of its labels are no class of gold (dog)" in out
    done = Path("done/day1.csv").read_text("latin-1").splitlines()
    given = Path("in/day1.csv").read_text("latin-1").splitlines()
    assert [line.rsplit(";", 2)[0] for line in done] == given
    assert call("encoding=latin-1") == 3
    assert "60 of 60 cells are no category of gold, such as 'new'" in capfd.readouterr().out


def test_pieces_of_a_file_are_labelled_as_the_whole(days, monkeypatch):
    """A long segment: the method is given some of its rows, and its model labels all."""
    monkeypatch.setattr("sdsl.use.follower.MOST", 25)
    assert call("out=whole") == 0
    for name, size in {"PIECE": 600, "PIECE_ROWS": 7}.items():
        monkeypatch.setattr(f"sdsl.datasets.tables.{name}", size)
    assert call() == 0
    done = labelled()
    assert done.equals(labelled("whole")) and history().rows.tolist() == [60] * 5
    assert (done.label.to_numpy() == days.kind[60:360].to_numpy()).mean() > 0.95
    assert history().equals(history("whole"))


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("segmnt_size=5", "segment_size"),
        ("segment_size=0", "segment_size=0"),
        ("seed=0,1", "seed"),
        ("method=jt", "reads true labels"),
        ("method=our", "Did you mean"),
        ("gold=none.csv", "none.csv: no such file"),
        ("gold=???", "gold= is missing"),
        ("gold=in/day1.csv", "no column 'kind'"),
        ("gold=one.csv", "one class only"),
        ("gold=late.csv", "no row has a label"),
        ("gold=[gold.csv,other.csv]", "different columns"),
        ("label=nothing", "no column 'nothing'"),
        ("files=nowhere/*.csv", "there is no such file"),
        ("drop=[zzz]", "no column 'zzz'"),
        ("label=a", "a: 60 different numbers in 60 rows of gold are no classes"),
        ("encoding=latin-0", "unknown encoding: latin-0. Expected encoding=latin-1"),
        ("encoding=hex", "Expected encoding=latin-1"),
        ("out=in", "files=in are in the folder in, which out=in is or holds"),
        ("out=.", "which out=. is or holds"),
        ("abstain=2", "abstain=2"),
        ("ask_by=most", "ask_by='most'"),
        ("checked=none.csv", "none.csv: no such file"),
        ("out=gold.csv/x", "cannot be made"),
    ],
)
def test_refusals_are_one_sentence_and_write_nothing(days, word, sentence, capfd):
    days.assign(kind="ant")[:60].to_csv("one.csv", index=False)
    days.assign(kind="")[:60].to_csv("late.csv", index=False)
    days.assign(d=1)[:60].to_csv("other.csv", index=False)
    assert call(word) == 2
    err = capfd.readouterr().err
    assert sentence in err and "Traceback" not in err and len(err) < 2500
    assert not os.path.exists("done") or set(os.listdir("done/.sdsl")) <= {"lock", "state.sdsl"}


def test_another_model_needs_another_folder(days, capfd):
    assert call() == 0
    days[:50].to_csv("fewer.csv", index=False)
    others = {"seed=1": "seed", "lookback.size=7": "lookback", "drop=[a]": "drop="}
    for word, name in (others | {"gold=fewer.csv": "gold"}).items():
        assert call(word) == 2
        err = capfd.readouterr().err
        assert "was begun with another" in err and name in err
    assert len(labelled()) == 300


def test_a_changed_file_is_mentioned_not_labelled_again(days, capfd):
    assert call() == 0
    before = Path("done/day1.csv").read_bytes()
    with open("in/day1.csv", "a") as file:
        file.write("1,2,3\n")
    assert call() == 0
    assert "day1.csv: changed after" in capfd.readouterr().err
    assert Path("done/day1.csv").read_bytes() == before


def test_two_at_once_are_refused(days, capfd):
    os.makedirs("done/.sdsl")
    with FileLock("done/.sdsl/lock"):
        assert call() == 2
    assert "Another sdsl.label is at work" in capfd.readouterr().err


def test_watching(days, capfd):
    os.rename("in/day5.csv", "day5.csv")
    for file in (Path("day5.csv"), *Path("in").iterdir()):
        os.utime(file, (1, 1))  # long unchanged

    def later() -> None:
        wait_for("done/day4.csv.gz")
        os.rename("day5.csv", "in/day5.csv")
        wait_for("done/day5.csv")
        os.kill(os.getpid(), signal.SIGINT)

    def wait_for(file: str) -> None:
        end = time.monotonic() + 600
        while not os.path.exists(file) and time.monotonic() < end:
            time.sleep(0.05)

    threading.Thread(target=later, daemon=True).start()
    assert call("watch=true", "every=0.2") == 0
    assert len(labelled()) == 300 and "day5.csv" in capfd.readouterr().out


def test_the_default_method_is_that_of_the_class():
    assert composed("+command=label")["method"]["name"] == StreamClassifier().method
