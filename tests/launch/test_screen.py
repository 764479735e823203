"""What a person sees meanwhile: which jobs run, how far all of them are, failures as they come."""

import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cli import ROOT, SERIAL, TINY, call

from sdsl import progress
from sdsl.config.naming import Names
from sdsl.launch import screen
from sdsl.launch.steps import Steps, read
from sdsl.launch.types import Job, JobReport, JobResult, Place
from sdsl.progress import Meter, Pace, Parts, clock
from sdsl.tracking.provenance import ALONE
from sdsl.tracking.records import Entry

SWEEP = ("-m", SERIAL, *TINY, "lookback.size=20,30")


def job(folder: Path, index: int, segments: int | None = 10) -> Job:
    place = Place("sqlite:///x", "sdsl")
    return Job(index, ALONE, f"job={index}", None, place, 1, 1.0, segments, Steps(folder, index))


def report(computed: int = 1) -> JobReport:
    names, entries = Names("st", "d", ""), [Entry(0, "r", {})]
    return JobReport(
        names, "g", "p", entries, computed, "data", "own", False, "sqlite:///x", "1", []
    )


@pytest.fixture
def seconds(monkeypatch) -> list[float]:
    """What the clock says: set its only entry."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_time_left_converges(seconds):
    pace = Pace()
    assert pace.left(0, 100) == ""
    seconds[0] = 10
    assert pace.left(10, 100) == ", 1:30 left"
    seconds[0] = 60
    assert pace.left(90, 100) == ", 0:07 left"
    assert pace.left(100, 100) == ""
    assert clock(3723) == "1:02:03"


def test_a_sweep_counts_the_segments_of_all_its_jobs(tmp_path, seconds):
    jobs = [job(tmp_path, 0), job(tmp_path, 1), job(tmp_path, 2, None), job(tmp_path, 3)]
    shown = screen.SweepScreen(jobs)
    assert shown.text() == "0 of 4 jobs, 0 of 30 segments"
    jobs[0].steps.write(4, 8)  # says how long it is
    shown._show()
    seconds[0] = 2
    # 8 of the first, 10 of the second and the last, and 8 for the one that nobody knows
    assert shown.text() == "0 of 4 jobs, 4 of 36 segments, 2.0 per second, 0:16 left"
    shown.finished(jobs[0], JobResult(report()))
    shown.finished(jobs[1], JobResult(report(computed=0)))  # the store had it
    assert shown.text() == "2 of 4 jobs, 8 of 26 segments, 4.0 per second, 0:04 left"
    shown.finished(jobs[2], JobResult(failure="no memory"))
    assert shown.text() == "3 of 4 jobs, 1 failed, 8 of 18 segments, 4.0 per second, 0:02 left"


def test_in_a_pipe_a_line_per_job_and_one_per_minute(tmp_path, seconds, capsys):
    jobs = [job(tmp_path, 0), job(tmp_path, 1)]
    shown = screen.SweepScreen(jobs)
    for now in (1, 30, 59, 61, 90, 130):
        seconds[0] = now
        shown._show()
    assert capsys.readouterr().err.splitlines() == ["0 of 2 jobs, 0 of 20 segments"] * 2
    shown.finished(jobs[0], JobResult(report()))
    shown.finished(jobs[1], JobResult(failure="no memory"))
    first, last = capsys.readouterr().err.splitlines()
    assert first.endswith("| job=0 | data")
    assert last.endswith("| failed: job=1: no memory")


def test_parts_say_which_comes_and_how_many(seconds, capsys):
    with Parts("searching", 4) as parts:
        parts.next("a")
        seconds[0] = 10
        parts.next("b")
        assert parts.done == 1
        parts.end("b")
        assert parts.text == "searching: 2 of 4, 0:10 left, b"
    said = "searching: 1 of 4, a\nsearching: 2 of 4, b, 0:30 left\n"
    assert capsys.readouterr().err == said


def test_steps_survive_a_folder_that_is_gone(tmp_path):
    steps = Steps(str(tmp_path / "elsewhere"), 3)
    steps.write(1, 2)
    assert read(steps) is None and not list(tmp_path.iterdir())


def test_jobs_are_announced_before_anything_is_loaded():
    code = (
        "import sys, builtins\n"
        "from sdsl.launch import launcher\n"
        "def stop(*a, **k):\n"
        "    print(a[0]); print([m for m in ('torch', 'mlflow') if m in sys.modules])\n"
        "    raise SystemExit(7)\n"
        "launcher.print = stop\n"
        "sys.argv = ['sdsl.run', '-m', 'method=st', 'lookback.size=20,30', 'seed=4']\n"
        "from sdsl.run import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    said = "2 jobs: method=st seed.values=[4]\n  lookback.size=20\n  lookback.size=30\n[]\n"
    assert done.stdout == said


def test_a_long_list_is_cut():
    text = screen.announced([["a=1", f"b={i}"] for i in range(50)])
    assert text.splitlines()[0] == "50 jobs: a=1"
    assert text.splitlines()[-1] == "  and 38 more"


def test_nothing_is_left_of_the_steps(here, monkeypatch, tmp_path_factory):
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    written = []
    monkeypatch.setattr(Steps, "write", lambda self, t, total: written.append((t, total)))
    assert call(*SWEEP) == 0
    assert written == [(0, 2), (1, 2), (2, 2)] * 2
    assert not list(temporary.iterdir())


def test_a_terminal_sees_a_bar(here):
    """Through a pseudo-terminal, as a person would."""
    parent, child = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "TERM": "xterm"}
    command = subprocess.Popen(
        [sys.executable, "-m", "sdsl.run", *SWEEP, "stream.max_segments=3", "method=ours"],
        stdout=subprocess.PIPE,
        stderr=child,
        env=environment,
    )
    os.close(child)
    seen = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    assert command.wait() == 0
    text = seen.decode()
    assert text.index("2 jobs: ") < text.index("of 6 segments")
    assert "1 of 2 jobs" in text and "per second" in text and " left" in text
    assert " | " not in text  # no line per job: the table says it


def test_a_meter_without_a_total_pulses(capsys):
    with Meter("reading") as meter:
        meter.show("still reading")
        meter.say("a line")
    assert capsys.readouterr().err == "a line\n"
