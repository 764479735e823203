"""sdsl.bench at tiny sizes: every part measures, is shown and saved; no figure is judged here."""

import json
import shutil

import pytest
import support

from sdsl.bench import __main__ as bench
from sdsl.bench import data, flops, fuse, growth, jobs, loop, peers, shares, store, timing, use
from sdsl.bench import rows as results

COMMITTED = support.ROOT / "outputs" / "paper" / "bench"


@pytest.mark.parametrize(
    "part", [fuse, loop, growth, store, jobs], ids=lambda module: module.__name__
)
def test_a_part_measures(part, tmp_path):
    rows = part.measure(True, tmp_path)
    assert rows
    assert all(row.what and row.found for row in rows)
    assert all(row.raw.get("same_bits", True) for row in rows)
    json.dumps([row.raw for row in rows])


def test_fusing_keeps_the_bits():
    assert fuse.updates(5, 1)[0].raw["same_bits"]


def test_absent_peers_are_skipped_with_the_command_that_installs_them(tmp_path):
    rows = {row.what.partition(",")[0]: row for row in peers.measure(True, tmp_path)}
    for name in peers.PEERS:
        assert "skipped" in rows[name].found
        assert "--install" in rows[name].found
        assert rows[name].met is None
    assert "bare loop against ours with tracking" in rows


def test_use_measures_every_operation_and_names_absent_peers(tmp_path):
    rows = {row.what: row for row in use.measure(True, tmp_path)}
    for method in use.METHODS:
        for what, how in use.WHAT.items():
            assert rows[f"{method}, {what}: {how}"].raw["cpu"] >= 0
    for name in use.PEERS:
        assert "skipped" in rows[name].found and "--install" in rows[name].found


def test_a_peer_is_put_beside_ours_as_a_ratio():
    mine = {m: {"adapt": timing.Cost(0.5, 1.0)} for m in use.METHODS}
    theirs = {"cpu": 2.0, "wall": 2.0, "rows": 1000, "accuracy": 0.9}
    row = use._theirs("river", "a tree", theirs, mine, 500)
    assert row.raw["ratio_tracker"] == 2.0 and "2000.0 ms CPU per 1,000 rows" in row.found


def test_shares_cover_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seconds = shares.worker([["method=ours", "dataset=twonorm", *shares.TINY]])
    assert set(seconds) == {
        *("imports", "Hydra", "data", "labelling", "training", "evaluation"),
        *("eigh/SVD", "artifacts", "MLflow", "rest"),
    }
    assert min(seconds.values()) >= 0


def test_what_is_timed_inside_is_taken_off(monkeypatch):
    now = iter([0.0, 1.0, 4.0, 6.0])
    monkeypatch.setattr(shares.time, "process_time", lambda: next(now))
    timers = shares.Shares()
    with timers("outer"), timers("inner"):
        pass
    assert timers.seconds == {"inner": 3.0, "outer": 3.0}


def test_data_loads_and_splits(tmp_path):
    found = data.worker(str(tmp_path), 1)
    assert found["streams"] == 1
    assert found["mb"] > 0


def test_rounds_are_interleaved_and_the_first_warms_up():
    calls = []
    costs = timing.compare({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b"] * 3
    assert set(costs) == {"a", "b"}


def test_a_part_that_is_asked_for_by_name_has_a_table_of_its_own(tmp_path, monkeypatch):
    def flop(rate):
        return [results.Row("ours", f"{rate} %", "60 %", True)]

    monkeypatch.setattr(flops, "measure", lambda tiny, out: flop(69))
    assert bench.main(["flops", "--out", str(tmp_path)]) == 0
    alone = (tmp_path / "table.md").read_text()
    assert "| flops | ours | 69 % | 60 % | met |" in alone and alone.count("Measured on") == 1
    monkeypatch.setattr(loop, "measure", lambda tiny, out: [results.Row("sgd", "1.9")])
    monkeypatch.setattr(data, "measure", lambda tiny, out: [results.Row("cached", "1 s")])
    assert bench.main(["data", "loop", "--out", str(tmp_path)]) == 0
    both = (tmp_path / "table.md").read_text()
    # One table of the usual parts, in their order, then that of the other, which was kept.
    assert both.count("Measured on") == 2
    assert both.index("| loop |") < both.index("| data |") < both.index("| flops |")


def test_nothing_saved_gives_no_table(tmp_path):
    assert results.markdown(tmp_path, bench.TABLES) == ""


def test_a_table_names_the_code_that_was_measured(tmp_path):
    for part, sha, dirty in (("fuse", "a", "false"), ("loop", "a", "false"), ("data", "b", "true")):
        results.save(part, [results.Row("speed", "3.1x")], (0.1, 2.5), tmp_path)
        saved = json.loads((tmp_path / f"{part}.json").read_text())
        saved["machine"] |= {"git_sha": 40 * sha, "dirty": dirty}
        (tmp_path / f"{part}.json").write_text(json.dumps(saved))
    text = results.markdown(tmp_path, bench.TABLES)
    assert "commit aaaaaaa, bbbbbbb with uncommitted changes; " in text


def test_saved_results_become_one_markdown_table(tmp_path):
    rows = [results.Row("speed", "3.1x", "3x", True), results.Row("size", "5 MB")]
    results.save("fuse", rows, (0.1, 2.5), tmp_path)
    text = results.markdown(tmp_path, bench.TABLES)
    assert "| fuse | speed | 3.1x | 3x | met |" in text
    assert "| fuse | size | 5 MB |  |  |" in text
    assert "load 0.1 to 2.5" in text
    assert json.loads((tmp_path / "fuse.json").read_text())["machine"]["cpu"]


def test_the_committed_tables_are_those_of_the_committed_results():
    """The parts of the first table come from one version; none has uncommitted changes."""
    saved = {file.stem: json.loads(file.read_text()) for file in COMMITTED.glob("*.json")}
    assert len({saved[part]["machine"]["git_sha"] for part in bench.PARTS}) == 1
    assert {one["machine"]["dirty"] for one in saved.values()} == {"false"}
    text = results.markdown(COMMITTED, bench.TABLES)
    assert (COMMITTED / "table.md").read_text() == text
    assert text in (COMMITTED / "README.md").read_text(encoding="utf-8")
    assert 45 < saved["jobs"]["rows"][0]["raw"]["cpu"] < 75  # sweeps/README.md: about a minute


def test_old_numbers_are_called_old_and_new_ones_are_not():
    """When the first table is new, the paragraphs on old code and the folder again/ have to go."""
    old = json.loads((COMMITTED / "fuse.json").read_text())["machine"]["git_sha"][:7] == "7beb795"
    for page in (COMMITTED / "README.md", support.ROOT / "sweeps" / "README.md"):
        assert ("again/table.md" in page.read_text(encoding="utf-8")) == old, page
    assert (COMMITTED / "again").exists() == old


def test_tables_are_made_without_measuring(tmp_path, capsys):
    for file in COMMITTED.glob("*.json"):
        shutil.copy(file, tmp_path)
    assert bench.main(["--tables", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "table.md").read_text() == (COMMITTED / "table.md").read_text()
    assert "measuring" not in capsys.readouterr().err
    with pytest.raises(SystemExit):
        bench.main(["--tables", "--out", str(tmp_path / "absent")])
    assert "nothing is saved in" in capsys.readouterr().err


def test_an_unknown_part_is_refused(capsys):
    with pytest.raises(SystemExit):
        bench.main(["speed"])
    assert "unknown part speed" in capsys.readouterr().err


def test_it_says_which_part_it_measures(tmp_path, monkeypatch, capsys):
    for part in (loop, data):
        monkeypatch.setattr(part, "measure", lambda tiny, out: [])
    bench.main(["loop", "data", "--out", str(tmp_path)])
    first, second = capsys.readouterr().err.splitlines()
    assert first == "measuring: 1 of 2, loop"
    assert second.startswith("measuring: 2 of 2, data, 0:0")
