"""Numbers in texts: marks give way to what the runs say, and the committed texts are current."""

import json
import re
from pathlib import Path

import pytest
from report_made_up import results

from sdsl.report.runs import export
from sdsl.report.texts.__main__ import TEXTS, main
from sdsl.report.texts.facts import Facts
from sdsl.report.texts.marks import renewed, unmarked
from sdsl.report.texts.parts import PARTS

ROOT = Path(__file__).parents[3]
PAPER = ROOT / "outputs" / "paper"
committed = pytest.mark.skipif(
    not (PAPER / "runs.csv").exists(), reason="outputs/paper holds no results yet"
)


@pytest.fixture
def given():
    """Satimage: st .5, ours .9363, tracker .95; Spam: st .96, ours .9, tracker .9449."""
    made = results(
        ("st", "ours", "tracker", "oracle_labels"),
        ("satimage", "spam"),
        seeds=2,
        T=3,
        context=("tracker",),
        lasting_swap=0.0,
        seconds_train=6.0,
    )
    frame = made.frame
    for method, satimage, spam in (
        ("st", 0.5, 0.96),
        ("ours", 0.9363, 0.9),
        ("tracker", 0.95, 0.9449),
        ("oracle_labels", 0.99, 0.99),
    ):
        rows = frame.variant == method
        frame.loc[rows & (frame.stream == "satimage"), "acc_online"] = satimage
        frame.loc[rows & (frame.stream == "spam"), "acc_online"] = spam
    seeds = (frame.variant == "ours") & (frame.stream == "satimage")
    frame.loc[seeds, "lasting_swap"] = [1.0, 0.0]
    frame.loc[seeds, "seconds_train"] = [2.0, 4.0]  # two jobs of one seed each
    return made


@pytest.fixture
def facts(given) -> Facts:
    return Facts.of(given, PAPER)


def test_a_table_by_hand(facts):
    lines = PARTS["acc_t"](facts).splitlines()
    dashes = "– | – | – | – | – |"
    assert lines[0].startswith("| method | MG_2C_2D | UG_2C_2D |") and len(lines) == 2 + 7 + 1
    assert lines[2] == f"| `st`: no adaptation | {dashes} .500 | .960 | – |"
    assert lines[4] == f"| `ours`: the paper's method, our reading | {dashes} .936 | .900 | – |"
    assert lines[9] == f"| *data* | {dashes} own | own | – |"


def test_the_best_by_stream_and_what_it_costs(facts):
    rows = PARTS["streams"](facts).splitlines()[2:]
    # 6 s for 2 seeds side by side and 3 segments: 1000 ms. True labels do not compete.
    assert rows[0].startswith("| Satimage | `tracker` .950 | 1000 | `ours` .936 | .990 |")
    assert rows[1].startswith("| Spam | `st` .960 | 1000 | `tracker` .945 | .990 |")
    assert facts.milliseconds("ours", "satimage") == 1000  # 2 s + 4 s, one after the other


def test_what_was_asked_of_the_tracker_and_missed_is_bold(facts):
    lines = {line.split(" | ")[0]: line for line in PARTS["aims"](facts).splitlines()}
    assert lines["| Satimage"].startswith("| Satimage | **.950** | .965 |")
    assert lines["| Spam"].startswith("| Spam | .945 | .945 |")  # .9449, as it is shown
    assert lines["| Twonorm"].startswith("| Twonorm | – | .980 |")  # not run


def test_where_the_tracker_fails(facts):
    assert PARTS["fails"](facts).splitlines()[2:] == ["| Spam | .945 | .945 | `st` .960 |"]


def test_what_was_not_measured_says_so(given, tmp_path):
    facts = Facts.of(given, tmp_path)
    for name in ("alarms", "bench", "batches", "run_costs"):
        assert PARTS[name](facts).startswith("Not measured: run `python -m sdsl.")


def test_files_beside_the_runs_by_hand(given, tmp_path):
    bench, facts = tmp_path / "bench", Facts.of(given, tmp_path)
    bench.mkdir()
    (bench / "table.md").write_text("| a table |\n")
    assert PARTS["bench"](facts) == "| a table |\n"
    lines = "rows,mixed,accuracy", "1,False,0.5", "1,False,0.7", "10,False,0.9", "10,True,0.8"
    (bench / "context.csv").write_text("\n".join(lines))
    assert PARTS["batches"](facts).splitlines()[2:] == [
        "| of one segment | .600 | .900 |",
        "| of two segments, mixed | – | .800 |",
    ]
    one = {"Hydra": 0.1, "data": 0.0, "MLflow": 0.36, "artifacts": 0.2, "rest": 0.06}
    one |= {"training": 0.2, "evaluation": 0.05, "labelling": 0.05}
    twelve = {part: seconds / 2 for part, seconds in one.items()}
    disk = {"database": 120_000, "artifacts": 220_000, "files": 6.0}
    rows = [{"raw": raw} for raw in (one, twelve, disk)]
    machine = {"git_sha": 40 * "a", "date": "2026-11-16 21:15"}
    (bench / "store.json").write_text(json.dumps({"machine": machine, "rows": rows}))
    text = PARTS["run_costs"](facts)
    assert "| train and evaluate (ST) | 0.30 s | 0.15 s |" in text
    assert "| total, with the rest | 1.02 s | 0.51 s |" in text
    # 100,000 times 0.72 s are 20 hours.
    assert text.endswith(
        "Commit aaaaaaa, 2026-11-16 21:15. So 100,000 runs need 12 GB of database, 22 GB of "
        "artifacts in 600,000 files and, training aside, 10 core hours as jobs of 12 seeds (20 as "
        "jobs of one)."
    )


@pytest.mark.parametrize(
    ("mark", "number"),
    [
        ("acc_t ours satimage", ".936"),
        ("acc_t record satimage", "–"),
        ("low tracker spam", ".945"),
        ("swaps ours satimage", "1 of 2"),
        ("swaps tracker", "0 of 4"),
        ("ahead tracker st", "1 of 2"),
        ("ahead record st", "–"),
        ("best tracker", "1 of 8"),
        ("paper ours ug_2c_2d", ".894"),
    ],
)
@pytest.mark.parametrize("before", ["FILL", ".123", "1.000", "3 of 8", "–"])
def test_a_number_in_a_sentence(facts, mark, number, before):
    text = f"It has <!-- {mark} -->{before}, and more."
    assert renewed(text, facts) == f"It has <!-- {mark} -->{number}, and more."


def test_a_part_is_written_between_its_marks(facts):
    text = "a\n\n<!-- generated: fails -->\nold\n<!-- end -->\n\nb\n"
    new = renewed(text, facts)
    assert new.startswith("a\n\n<!-- generated: fails -->\n\n| stream |")
    assert new.endswith("|\n\n<!-- end -->\n\nb\n") and "old" not in new
    assert renewed(new, facts) == new


def test_what_nothing_renews_is_found(facts):
    text = "<!-- acc_t st spam -->.960 and .961, FILL\n<!-- generated: fails -->\n.1\n<!-- end -->"
    assert unmarked(text) == [".961", "FILL"]


def test_the_command(given, tmp_path, capsys):
    export.write(given, tmp_path / "given")
    file = tmp_path / "a.md"
    for text, said in (("<!-- acc_t st spam -->FILL", "renewed"), (None, "unchanged")):
        if text:
            file.write_text(text)
        assert main([str(tmp_path / "given"), "--texts", str(file)]) == 0
        assert file.read_text() == "<!-- acc_t st spam -->.960"
        assert capsys.readouterr().out == f"{file}: {said}\n"
    file.write_text("<!-- generated: nothing -->\n<!-- end -->")
    assert main([str(tmp_path / "given"), "--texts", str(file)]) == 2
    assert "There are: claims, readings" in capsys.readouterr().err
    assert main([str(tmp_path / "given"), "--texts", str(tmp_path / "absent.md")]) == 2


@committed
def test_the_committed_texts_are_those_of_the_committed_runs():
    facts = Facts.of(export.read(PAPER), PAPER)
    for name in TEXTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert renewed(text, facts) == text, f"python -m sdsl.report.texts renews {name}"


@pytest.mark.parametrize("name", TEXTS)
def test_no_accuracy_stands_in_a_text_that_nothing_renews(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not unmarked(text)
    # A line that starts with a comment would end the paragraph before it.
    assert not re.findall(r"^\s*<!-- (?!generated: |end )", text, re.M)
