"""The search: nothing of the eight or the archive in it, every variant a config, its arithmetic."""

import pandas as pd
import pytest
import support

from sdsl import experiment, progress
from sdsl.search import __main__ as search
from sdsl.search import scoring
from sdsl.search.__main__ import main
from sdsl.search.baselines import STARTED
from sdsl.search.table import compared, markdown
from sdsl.search.variants import FAMILIES, SHIPPED

EIGHT = {path.stem for path in (support.ROOT / "conf" / "dataset").glob("*.yaml")}
STREAMS = [
    pytest.param(words, id=f"{name}: {stream}")
    for name, family in FAMILIES.items()
    for part in (family.streams, family.held_out)
    for stream, words in part.items()
]
COMMITTED = support.ROOT / "outputs" / "paper" / "search.csv"


@pytest.mark.parametrize("words", STREAMS)
def test_streams_are_development_streams(words):
    config = support.config(*words.split())
    dataset = experiment.setup(config).config["dataset"]
    assert len(EIGHT) == 8
    assert dataset["name"].startswith("dev_")
    assert dataset.get("keel") not in EIGHT


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_variant_is_one_change_and_no_seed_is_the_papers(family):
    first = STARTED.get(family.method, "")  # what the search changed itself, if it did
    started = support.config(f"method={family.method}", *first.split())
    assert not set(family.seeds) & set(range(10))
    assert family.variants[SHIPPED] == first
    for name, words in family.variants.items():
        changed = support.config(f"method={family.method}", *words.split())
        experiment.setup(changed)
        assert (changed == started) == (name == SHIPPED), name


def test_a_third_of_the_trackers_streams_is_set_apart():
    family = FAMILIES["tracker"]
    share = len(family.held_out) / (len(family.streams) + len(family.held_out))
    assert 1 / 3 <= share < 0.35
    assert not set(family.streams.values()) & set(family.held_out.values())


@pytest.mark.parametrize("name", ["cotta", "sar", "gst", "dann"])
def test_a_baseline_is_given_what_ours_was_given(name):
    mine, ours = FAMILIES[name], FAMILIES["ours"]
    assert (mine.streams, mine.seeds) == (ours.streams, ours.seeds)
    assert len(mine.variants) == len(ours.variants)


def test_gain_and_its_error_over_the_streams():
    family = FAMILIES["ours"]
    other, (a, b, *_) = "10 rounds", family.streams
    rows = [(SHIPPED, a, 0.5), (SHIPPED, b, 0.7), (other, a, 0.6), (other, b, 0.72)]
    table = compared(pd.DataFrame(rows, columns=["variant", "stream", "acc_t"]), family)
    assert table.loc[other, ["mean", "gain", "se"]].tolist() == pytest.approx([0.66, 0.06, 0.04])
    assert table.loc[SHIPPED, ["gain", "se"]].tolist() == [0, 0]


def test_the_committed_search_covers_every_variant_of_its_time():
    family = FAMILIES["ours"]
    table = compared(pd.read_csv(COMMITTED), family)
    assert set(family.variants) - set(table.index) <= {"frozen scale"}  # tried later, by hand
    assert list(table.columns) == [*family.streams, "mean", "gain", "se"]
    assert markdown(COMMITTED, family).count("\n") == len(table) + 2


def test_an_unknown_variant_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["no such thing"])
    assert "10 rounds" in capsys.readouterr().err


def test_an_unknown_method_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["method=st"])
    assert "methods: ours, tracker, ours_tracker, cotta" in capsys.readouterr().err


def test_it_says_how_far_it_is(empty_folder, monkeypatch, capsys):
    def scores(jobs, processes):
        for _, variant, stream, _ in jobs:
            yield {"variant": variant, "stream": stream, "acc_t": 0.5, "acc_T": 0.5}

    monkeypatch.setattr(search, "scores", scores)
    monkeypatch.setattr(progress, "MINUTE", -1.0)  # every line at once
    search.main(["10 rounds"])
    total = 2 * len(FAMILIES["ours"].streams)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"searching: {total} jobs"
    assert lines[1].startswith(f"searching: 1 of {total}, 0:") and SHIPPED in lines[1]
    assert lines[-1].startswith(f"searching: {total} of {total}, 10 rounds on ")


def test_a_stream_set_apart_is_not_taken_for_another_of_its_name(monkeypatch):
    family, seen = FAMILIES["tracker"], []
    assert family.streams["few gold"] != family.held_out["few gold"]
    monkeypatch.setattr(scoring, "composed", lambda *words: seen.append(" ".join(words)) or 1 / 0)
    for apart, streams in ((False, family.streams), (True, family.held_out)):
        with pytest.raises(ZeroDivisionError):
            scoring.score("tracker", SHIPPED, "few gold", apart)
        assert streams["few gold"] in seen[-1]


def test_workers_find_what_they_run():
    """A worker imports what it is sent; it never imports a package's __main__."""
    for name in ("score", "scores"):
        assert getattr(scoring, name).__module__ == "sdsl.search.scoring"


def test_only_some_streams_in_so_many_processes(empty_folder, monkeypatch, capsys):
    asked = []

    def scores(jobs, processes):
        asked.append((jobs, processes))
        yield {"variant": SHIPPED, "stream": "travel", "acc_t": 0.5, "acc_T": 0.5}

    monkeypatch.setattr(search, "scores", scores)
    search.main(["method=tracker", "no flow", "--only", "travel", "--jobs", "1"])
    jobs = [("tracker", variant, "travel", False) for variant in (SHIPPED, "no flow")]
    assert asked == [(jobs, 1)]
    with pytest.raises(SystemExit):
        search.main(["method=tracker", "--only", "nowhere"])
    assert "unknown: nowhere. Streams: few gold" in capsys.readouterr().err
