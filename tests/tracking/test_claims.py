"""One living process for each run: races, waiting, taking over."""

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from cli import TINY, call, client, runs, start, stored, wait_for

from sdsl.launch import sharing
from sdsl.tracking import claims, heartbeat, provenance
from sdsl.tracking.claims import settle
from sdsl.tracking.heartbeat import Watch
from sdsl.tracking.ledger import Ledger
from sdsl.tracking.process import this_process
from sdsl.tracking.provenance import ALONE, JobTags
from sdsl.tracking.records import Group

GROUP = Group("st", "d", "st", "d", "", "none", "none", "", "", "own", 1, 1, 2, "", "", "g" * 64)
KEYS = {0: "k0", 1: "k1"}


def made_up(run_id: str, start: int, status: str = "RUNNING", **tags: str) -> SimpleNamespace:
    info = SimpleNamespace(run_id=run_id, start_time=start, status=status, run_name=run_id)
    return SimpleNamespace(info=info, data=SimpleNamespace(tags=tags))


@dataclass
class Store:
    """Claims on one key, and who has got it."""

    found: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    winners: list = field(default_factory=list)

    def contend(self, name: str, start: int, ends: bool = True) -> bool:
        mine = {"key": name}
        with self.lock:
            self.found.append(made_up(name, start))

        def look():
            with self.lock:
                return {"key": list(self.found)}

        def withdraw(key):
            with self.lock:
                self.found = [run for run in self.found if run.info.run_id != mine[key]]
            del mine[key]

        settle(mine, look, withdraw)
        if mine:
            self.winners.append(name)
        return bool(mine)


def test_whoever_looks_first_has_it_whatever_the_clocks_say(monkeypatch):
    monkeypatch.setattr(claims.time, "sleep", lambda seconds: None)
    store = Store()
    assert store.contend("early", start=100)
    assert not store.contend("its clock is behind", start=1)
    assert not store.contend("later", start=200)
    assert [run.info.run_id for run in store.found] == ["early"]


@pytest.mark.parametrize("round", range(20))
def test_of_eight_at_once_never_two(round, monkeypatch):
    monkeypatch.setattr(claims, "LOOKS", (0.0, 0.002, 0.005))
    store = Store()
    clocks = [5, 3, 3, 9, 1, 7, 7, 2]
    rivals = [
        threading.Thread(target=store.contend, args=(f"{i}", clock))
        for i, clock in enumerate(clocks)
    ]
    for rival in rivals:
        rival.start()
    for rival in rivals:
        rival.join()
    assert len(store.winners) <= 1
    assert [run.info.run_id for run in store.found] == store.winners
    assert store.winners or store.contend("again", start=10)  # nobody stays in the way


def test_a_finished_run_and_an_older_claim_stand_in_the_way():
    def kept(*others) -> bool:
        mine = {"key": "m"}
        found = [made_up("m", 5), *others]
        settle(mine, lambda: {"key": found}, mine.pop)
        return bool(mine)

    assert kept()
    assert not kept(made_up("a", 4))
    assert not kept(made_up("a", 6, "FINISHED"))


def tags_of(**other: str) -> dict[str, str]:
    mine = {
        **provenance.tags(),
        **ALONE.tags(),
        **GROUP.tags(),
        "kind": "run",
        "seed": "0",
        "run_key": "k0",
    }
    return {**mine, **other}


def claim(ledger: Ledger, **other: str) -> str:
    """Somebody else's RUNNING run of seed 0."""
    return ledger.client.create_run(ledger.experiment, tags=tags_of(**other)).info.run_id


def held(ledger: Ledger, job: JobTags = ALONE) -> set[int]:
    return set(ledger.holders(GROUP.group_key, KEYS, job))


def made(ledger: Ledger) -> set[int]:
    """Seeds that this process may make now."""
    with ledger.recording(GROUP, KEYS) as mine:
        found = set(mine)
        for run_id in mine.values():
            ledger.client.set_terminated(run_id, "KILLED")
    return found


@pytest.fixture
def living() -> dict[str, str]:
    """The tags of another process of this host that lives: init."""
    from sdsl.tracking.process import process_start

    return {"pid": "1", "process_start": process_start(1)}


def test_a_living_process_holds_its_run(here, living):
    ledger = Ledger(None, "sdsl")
    assert made(ledger) == {0, 1}
    run_id = claim(ledger, **living)
    assert held(ledger) == {0} and made(ledger) == {1}
    assert "made by process 1 on" in sharing.who(ledger.holders(GROUP.group_key, KEYS, ALONE))
    ledger.client.set_terminated(run_id, "FINISHED")
    assert held(ledger) == set() and made(ledger) == {1}  # nothing is done twice
    ledger.claims.broken.add(run_id)
    assert made(ledger) == {0, 1}  # but what is not whole is


def test_a_dead_process_holds_nothing(here, living):
    ledger = Ledger(None, "sdsl")
    run_id = claim(ledger, pid="1", process_start="another boot:1")
    assert held(ledger) == set()
    assert ledger.client.get_run(run_id).info.status == "KILLED"
    assert len(ledger.claims.adopted) == 1


def test_what_this_process_or_this_job_left_is_in_nobodys_way(here, living):
    ledger = Ledger(None, "sdsl")
    job = JobTags("host 12 start", 3, True)
    claim(ledger)  # its reply was lost: the store has it, we do not know it
    claim(ledger, **living, **job.tags())  # an earlier try, on a node that died
    assert held(ledger, job) == set()
    assert held(ledger) == {0}  # to others the earlier try is a process like any other


def test_another_host_lives_while_its_heart_beats(here, monkeypatch):
    ledger = Ledger(None, "sdsl")
    run_id = claim(ledger, host="another-host")
    now = [1000.0]
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: now[0])
    for beat in range(4):
        ledger.client.set_tag(run_id, heartbeat.TAG, f"{beat}")
        now[0] += 0.9 * heartbeat.TIMEOUT
        assert held(ledger) == {0}
    now[0] += 1.1 * heartbeat.TIMEOUT
    assert held(ledger) == set()
    assert ledger.client.get_run(run_id).info.status == "KILLED"


def test_a_sweep_of_slurm_may_end_before_its_jobs(here, monkeypatch):
    watch = Watch()
    gone = f"{this_process().host} 1 another boot:1"
    far = tags_of(host="another-host")
    assert watch.lost(made_up("a", 1, **{**far, "sweep": gone}))
    assert not watch.lost(made_up("b", 1, **{**far, "sweep": f"submitit {gone}"}))


def test_hearts_beat_and_a_run_that_was_taken_over_does_not_finish(here, monkeypatch):
    monkeypatch.setattr(heartbeat, "BEAT", 0.05)
    ledger = Ledger(None, "sdsl")
    with ledger.recording(GROUP, {0: "k0"}) as mine:
        (run_id,) = mine.values()
        beating = threading.Event()
        for _ in range(200):
            if heartbeat.TAG in ledger.client.get_run(run_id).data.tags:
                break
            beating.wait(0.05)
        else:
            raise AssertionError("no heartbeat")
        ledger.client.set_terminated(run_id, "KILLED")  # by another host
        monkeypatch.setattr(ledger.heartbeat, "lapsed", lambda: True)
        assert not ledger.log(run_id, {}, None, here)
    assert ledger.client.get_run(run_id).info.status == "KILLED"


def test_a_second_command_waits_and_says_so(here, capfd):
    slow = ("method=jt", *TINY[1:], "replay.fit.steps=100000")
    first = start(*slow)
    wait_for(lambda: [run for run in runs() if run.info.status == "RUNNING"], first)
    second = start(*slow)
    heard = []
    reader = threading.Thread(target=lambda: heard.extend(second.stderr), daemon=True)
    reader.start()
    wait_for(lambda: any("waiting for it" in line for line in heard), second)
    assert f"being made by process {first.pid} on" in "".join(heard)
    assert len(runs()) == 1
    first.kill()  # what a dead process left is taken over, and that is said too
    first.wait()
    wait_for(lambda: any("taken over" in line for line in heard), second)
    wait_for(lambda: sum(run.info.status == "RUNNING" for run in runs()) == 1, second)
    second.terminate()
    second.wait()
    assert [run.info.status for run in runs()] == ["KILLED", "KILLED"]


def test_a_sweep_puts_off_what_another_process_makes(here, living, capfd):
    """Job 1 is held by another process, which ends meanwhile: job 2 is done first."""
    line = ("-m", "hydra.launcher.n_jobs=1", *TINY[:3], "learner.pretrain.steps=5,6")
    assert call(*line) == 0
    done = runs()
    before = {run.info.run_id for run in done}
    first = next(run for run in done if run.data.params["learner.pretrain.steps"] == "5")
    for run in done:
        client().set_terminated(run.info.run_id, "FAILED")
    tags = {**first.data.tags, **living, **ALONE.tags()}
    other = client().create_run(first.info.experiment_id, tags=tags).info.run_id

    def end_it():
        while not any(run.info.run_id not in {*before, other} for run in runs()):
            waiting.wait(0.05)
        client().log_artifacts(other, str(stored(first, "R.npy").parent))
        for name, value in first.data.metrics.items():
            client().log_metric(other, name, value)
        client().set_terminated(other, "FINISHED")

    waiting = threading.Event()
    helper = threading.Thread(target=end_it, daemon=True)
    helper.start()
    capfd.readouterr()
    assert call(*line) == 0
    err = capfd.readouterr().err
    assert "put off: learner.pretrain.steps=5" in err.replace(" ".join(TINY[:3]) + " ", "")
    made_now = [run for run in runs() if run.info.run_id not in {*before, other}]
    assert [run.data.params["learner.pretrain.steps"] for run in made_now] == ["6"]
