"""Runs that say RUNNING though their process is gone, and runs that somebody else made."""

import pytest
from cli import SERIAL, TINY, TINY_NAME, call, client, runs

from sdsl.tracking import provenance
from sdsl.tracking.ledger import Ledger
from sdsl.tracking.process import Process, this_process
from sdsl.tracking.provenance import ALONE


def make(ledger: Ledger, *all_tags: dict[str, str]) -> list[str]:
    """The ids of RUNNING runs with these tags."""
    create = ledger.client.create_run
    return [create(ledger.experiment, tags=tags).info.run_id for tags in all_tags]


@pytest.fixture
def tags() -> dict[str, dict[str, str]]:
    mine = {**provenance.tags(), **ALONE.tags(), "kind": "run"}
    gone = {**mine, "pid": "1", "process_start": "another boot:1"}
    far = {**gone, "host": "another-host"}
    lost = {**far, "sweep": f"{mine['host']} 1 another boot:1"}  # its sweep was killed here
    return {"mine": mine, "gone": gone, "far": far, "lost": lost}


def test_stale_runs_are_adopted(here, tags):
    ledger = Ledger(None, "sdsl")
    ids = make(ledger, *tags.values())
    ledger.adopt_stale()
    found = [ledger.client.get_run(run_id).info.status for run_id in ids]
    assert found == ["RUNNING", "KILLED", "RUNNING", "KILLED"]


@pytest.mark.parametrize("mode", [(), ("-m", SERIAL)], ids=["run", "sweep"])
def test_every_command_adopts_and_leaves_the_runs_of_others_alone(here, tags, mode):
    """Runs without our tags, or with strange values in them, are somebody else's."""
    strange = {"host": tags["mine"]["host"], "pid": "none", "sweep": "every Monday"}
    deployment = {**tags["gone"], "kind": "deployment"}  # goes on in another process
    others = ({}, strange, {**strange, "kind": "run"}, deployment)
    stale, *others = make(Ledger(None, "sdsl"), tags["gone"], *others)
    assert call(*mode, *TINY) == 0
    named = [run.info.status for run in runs() if run.info.run_name == f"{TINY_NAME} · seed 0"]
    assert named == ["FINISHED"]
    assert client().get_run(stale).info.status == "KILLED"
    assert {client().get_run(run_id).info.status for run_id in others} == {"RUNNING"}


def test_a_process_is_written_and_read():
    me = this_process()
    assert Process.parse(str(me)) == me and not me.gone()
    assert Process.parse("none") is None and Process.parse("") is None
    assert Process(me.host, me.pid, "another boot:1").gone()
    assert Process(me.host, 2**22 + 1, "").gone()
    assert not Process("another-host", me.pid, "").gone()
