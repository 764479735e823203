"""dataset=own/csv with columns of any kind: as sdsl.label prepares them, from files and folders."""

import gzip
import shlex

import cli
import numpy as np
import pandas as pd
import pytest
import support
from dataset_support import dataset, stream

from sdsl.datasets import load
from sdsl.datasets.columns import prepare
from sdsl.errors import UserError
from sdsl.label import main as label

ROWS, SIZE = 130, 40


@pytest.fixture
def frame() -> pd.DataFrame:
    data = support.blobs(rows=ROWS, classes=2, d=2)
    rng = np.random.default_rng(0)
    made = pd.DataFrame(data.X, columns=["a", "b"]).assign(
        site=rng.choice(["north", "south"], ROWS),
        when=pd.date_range("2024-01-01", periods=ROWS, freq="37min").astype(str),
        same=1,
        kind=np.array(["ant", "bee"])[data.y],
    )
    made.loc[::9, "a"] = np.nan
    return made


@pytest.fixture
def read(data, empty_folder):
    """read("x.csv", drop=["a"]): the table that dataset=own/csv gives."""

    def make(path: str, **changes):
        settings = {"path": path, "label": "kind", "segment_size": SIZE, **changes}
        return load(dataset("own/csv", **settings), data)

    return make


def test_columns_are_prepared_as_sdsl_label_does(frame, read):
    frame.to_csv("x.csv", index=False)
    table = read("x.csv")
    plan = prepare(frame[:SIZE], "kind")
    assert (plan.transform(frame) == table.X).all()
    assert list(table.features) == plan.features and "site=south" in table.features
    assert table.classes == ("ant", "bee") and list(table.notes) == plan.told()
    again = read("x.csv")  # from the cache
    assert (again.X == table.X).all() and again.notes == table.notes


def test_plain_numbers_keep_their_bits(frame, read):
    frame[["b", "kind"]].to_csv("x.csv", index=False)
    assert (read("x.csv").X == read("x.csv", prepare=False).X).all()
    frame[["b", "kind"]].to_csv("x.csv", index=False, header=False)
    assert (read("x.csv", label=-1).X == read("x.csv", label=-1, prepare=False).X).all()


@pytest.mark.parametrize("path", ["in", "in/*", "in/day*.*"])
def test_folders_and_globs_of_files_in_order_of_name(frame, read, path, empty_folder):
    (empty_folder / "in").mkdir()
    frame.to_csv("x.csv", index=False)
    frame[:25].to_csv("in/day1.csv", index=False)  # gold ends within the second file
    frame[25:70].to_parquet("in/day2.parquet", index=False)
    text = frame[70:].to_csv(index=False).encode()
    (empty_folder / "in" / "day3.csv.gz").write_bytes(gzip.compress(text))
    table, one = read(path), read("x.csv")
    assert (table.X == one.X).all() and (table.y == one.y).all()
    assert table.source == f"3 files of {path}" and table.standing == "own"
    assert table.sha256 != one.sha256


def test_use_and_drop(frame, read):
    frame.to_csv("x.csv", index=False)
    assert read("x.csv", use=["b", "a"]).features == ("b", "a")
    assert "when_hour" not in read("x.csv", drop=["when"]).features
    with pytest.raises(UserError, match=r"no column 'wen'.*Did you mean 'when'"):
        read("x.csv", drop=["wen"])
    with pytest.raises(UserError, match=r"need dataset\.prepare=true"):
        read("x.csv", drop=["when"], prepare=False)


WRONG = {  # what row 100 holds -> the sentence
    ("site", "west"): r"'west' was not in gold\. Leave it out with dataset\.drop=\[site\]",
    ("b", "x"): r"column b, row 100: a number in gold, 'x' here",
    ("when", "noon"): r"column when, row 100: a time in gold, 'noon' here",
    ("kind", ""): r"row 100: expected a class label, found nothing",
}


@pytest.mark.parametrize("where", WRONG)
def test_what_does_not_fit_is_one_sentence(frame, read, where):
    frame = frame.astype(object)
    frame.loc[99, where[0]] = where[1]
    frame.to_csv("x.csv", index=False)
    with pytest.raises(UserError, match=rf"^x\.csv.*{WRONG[where]}"):
        read("x.csv")


def test_files_of_a_folder_have_the_same_columns(frame, read, empty_folder):
    (empty_folder / "in").mkdir()
    frame[:70].to_csv("in/1.csv", index=False)
    frame[70:].assign(extra=1).to_csv("in/2.csv", index=False)
    with pytest.raises(UserError, match=r"in/2\.csv: column extra was not in gold; dataset\.drop"):
        read("in")
    frame[70:].drop(columns="b").to_csv("in/2.csv", index=False)
    with pytest.raises(UserError, match=r"in/2\.csv: column b is missing"):
        read("in")


def test_a_short_line_and_an_empty_folder(frame, read, empty_folder):
    (empty_folder / "x.csv").write_text(frame.to_csv(index=False) + "1,2\n")
    with pytest.raises(UserError, match=r"x\.csv, line 132: expected 6 columns .* found 2"):
        read("x.csv")
    (empty_folder / "none").mkdir()
    with pytest.raises(UserError, match="no table in it"):
        read("none")


def command(error: UserError) -> list[str]:
    """The words of the command that the sentence names."""
    assert "evaluation harness" in str(error) and "\n" not in str(error)
    words = shlex.split(str(error).partition("to label this stream: ")[2])
    assert words[:3] == ["python", "-m", "sdsl.label"]
    return words[3:]


def test_labels_that_end_within_a_file_belong_to_sdsl_label(frame, read, here):
    frame.assign(kind=frame.kind.where(frame.index < 50, "")).to_csv("my rows.csv", index=False)
    with pytest.raises(UserError, match=r"my rows\.csv, row 51: from here on") as error:
        read("my rows.csv", drop=["when"])
    words = command(error.value)
    assert "segment_size=40" in words and "drop=[when]" in words
    label([*words, "method=st"])
    done = pd.read_csv("labelled/my rows.csv")
    assert len(done) == ROWS and (done.label == frame.kind).mean() > 0.9


@pytest.mark.parametrize("labelled", [1, 2])
def test_later_files_without_the_column_belong_to_sdsl_label(frame, read, here, labelled):
    (here / "in").mkdir()
    for i, start in enumerate(range(0, ROWS, 44)):
        part = frame[start : start + 44]
        part = part if i < labelled else part.drop(columns="kind")
        part.to_csv(f"in/{i}.csv", index=False)
    with pytest.raises(UserError, match=rf"in/{labelled}\.csv, row 1: from here on") as error:
        read("in")
    label([*command(error.value), "method=st"])
    assert (here / "labelled" / "2.csv").exists() and not (here / "labelled" / "0.csv").exists()


def test_a_fifth_of_any_segment_tests(frame, read):
    frame.to_csv("x.csv", index=False)
    for size in (40, 20):
        section = dataset("own/csv", path="x.csv", label="kind", segment_size=size)
        cut = stream(read("x.csv", segment_size=size), section)
        assert (cut.q, cut.n) == (size // 5, size - size // 5)
        assert cut.left_out == 10


def test_what_was_done_is_printed_and_logged(frame, here, capfd):
    frame.to_csv("x.csv", index=False)
    words = ("dataset=own/csv", "dataset.path=x.csv", "dataset.label=kind", *cli.TINY[2:])
    assert cli.call(*words, "method=st", "dataset.segment_size=40", "stream.max_segments=null") == 0
    err = capfd.readouterr().err
    assert err.count("site: 2 categories, one-hot") == 1 and "same: constant in gold" in err
    assert "10 rows at the end are left out: they do not fill a segment of 40." in err
    (run,) = cli.runs()
    assert "site: 2 categories, one-hot\n" in cli.artifact(run, "columns.txt").read_text()
