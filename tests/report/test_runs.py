"""Which runs are shown; a store and its export give the same ones, bit for bit."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import support
from made_runs import joined, made
from tracking.made import CONFIG, group, ledger, trial

from sdsl.errors import UserError
from sdsl.report import export, store, tables
from sdsl.report.runs import Runs, static_bounds
from sdsl.report.tables import Markdown


def test_a_store_and_its_export_show_the_same_runs(here):
    books = ledger()

    def ran(*seeds: int, probe: str = "none", key: str = "0", T: int = 4, **tags: str) -> None:
        config = CONFIG | {"probe": {"_target_": f"sdsl.probes.{probe}.Probe", "bounds": [0, 1]}}
        of = dataclasses.replace(group(key, **tags), config=config)
        curves = {"flatness_one_sided": np.array([0.9, 0.7])} if probe != "none" else {}
        for seed in seeds:
            with books.recording(of, seed) as run_id:
                books.log(run_id, of, seed, dataclasses.replace(trial(seed, T), probed=curves))

    ran(0, 1, key="1", code_sha256="old")
    ran(1, 0)
    ran(0, key="2", probe="flatness", setting="probe=flatness")
    ran(0, key="3", variant="st", setting="prefix=calibrated", T=3)
    ran(0, key="4", variant="st", setting="stream.max_segments=2, probe=flatness", T=2)
    runs = store.read()
    shown = runs.frame.sort_values(["setting", "probe", "seed"])
    assert shown[["variant", "setting", "probe", "seed", "T"]].to_numpy().tolist() == [
        *(["ours (a=1)", "", "flatness", 0, 4], ["ours (a=1)", "", "none", 0, 4]),
        *(["ours (a=1)", "", "none", 1, 4], ["st", "prefix=calibrated", "none", 0, 3]),
    ]
    assert any("short" in note for note in runs.notes)
    assert any("2 older" in note for note in runs.notes)
    first = runs.matrices("ours (a=1)", "spam")[0]
    assert first.tobytes() == trial(0).outcome.R[1:].tobytes()
    assert runs.curve("ours (a=1)", "spam", "flatness_one_sided").tolist() == [[0.9, 0.7]]
    export.write(runs, here / "one")
    again = store.merge([here / "one"])
    pd.testing.assert_frame_equal(runs.frame, again.frame.loc[runs.frame.index], check_exact=True)
    drawn = runs.curves["pseudo_label_acc"]  # kept in short
    drawn |= {run: curve.astype(np.float16).astype(float) for run, curve in drawn.items()}
    for name in runs.curves:
        assert support.bits(runs.curves[name]) == support.bits(again.curves.get(name, {}))
    assert support.bits(runs.R) == support.bits(again.R)
    assert (runs.configs, runs.environment) == (dict(again.configs), again.environment)
    export.write(again, here / "two")
    for file in (here / "one").iterdir():
        assert file.read_bytes() == (here / "two" / file.name).read_bytes(), file.name


def test_two_exports_are_merged(tmp_path):
    """The newer of two groups of runs counts, and a run that both hold counts once."""
    old, new = made(ours=[0.8, 0.7], st=[0.5]), made(setting="later", ours=[0.9])
    new.frame[["setting", "started"]] = "", 5
    export.write(old, tmp_path / "a")
    export.write(joined(old, new), tmp_path / "b")
    runs = store.merge([tmp_path / "a", tmp_path / "b"])
    assert runs.scores("ours", "spam", "acc_final").to_dict() == {0: 0.9}
    assert runs.scores("st", "spam", "acc_final").to_dict() == {0: 0.5}
    assert len(runs.frame) == 2


def test_what_cannot_be_exported_or_read_says_why(tmp_path):
    with pytest.raises(UserError, match="1000 test rows"):
        export.write(made(ours=[0.12345]), tmp_path)
    with pytest.raises(UserError, match="holds no exported runs"):
        store.merge([tmp_path / "none"])


def test_entries_that_were_not_evaluated_stay_so(tmp_path):
    runs = made(ours=[0.25])
    (R,) = runs.R.values()
    R[0, 1] = np.nan
    export.write(runs, tmp_path)
    assert np.array_equal(store.merge([tmp_path]).R["oursspamnone0"], R, equal_nan=True)
    assert export.rows_tested([R, np.array([1 / 3, 1.0])]) == 12


def test_segments_of_unequal_length_are_exported_as_they_are(tmp_path):
    """Accuracies of 248, 317 and 461 test rows are shares of no number that fits 16 bits."""
    runs = joined(made("real_gas", T=3, ours=[0.5]), made(T=3, st=[0.25]))
    R = np.array([[1, 2, np.nan], [247, 316, 460], [5, 6, 7]]) / [248, 317, 461]
    runs.R["oursreal_gasnone0"][:] = R
    runs.frame.loc["oursreal_gasnone0", "test_rows"] = export.rows_tested([R])
    export.write(runs, tmp_path)
    again = store.merge([tmp_path])
    assert again.frame.test_rows.to_dict() == {"oursreal_gasnone0": 0, "stspamnone0": 1000}
    assert support.bits(dict(again.R)) == support.bits(runs.R)


def test_other_data_under_the_same_name_get_another_name():
    old = made(ours=[0.5, 0.6])
    other = made(st=[0.1])
    other.frame["stream_sha256"], other.frame["standing"] = "7" * 64, "stand-in"
    streams = store.name_streams(joined(old, other).frame).stream
    assert streams.tolist() == ["spam", "spam", "spam (stand-in data 77777777)"]


def test_short_streams_are_shown_where_nothing_else_ran():
    short = made(setting="stream.max_segments=2", ours=[0.5])
    frame, notes = store.select(short.frame)
    assert len(frame) == 1 and notes == []
    whole = joined(short, made(setting="prefix=calibrated", ours=[0.6]), made(ours=[0.7]))
    assert [*whole.by_setting()] == ["", "prefix=calibrated", "stream.max_segments=2"]
    assert whole.by_setting()[""].scores("ours", "spam", "acc_final").tolist() == [0.7]


def test_cells_are_of_runs_without_a_probe_where_there_are_any():
    runs = joined(made(probe="flatness", ours=[0.1], st=[0.2]), made(ours=[0.7, 0.8]))
    assert runs.scores("ours", "spam", "acc_final").to_dict() == {0: 0.7, 1: 0.8}
    assert runs.scores("st", "spam", "acc_final").to_dict() == {0: 0.2}
    assert len(runs.all_of("ours", "spam")) == 3 and runs.cell("gst", "spam").empty
    assert runs.scores("gst", "spam", "no such metric").empty
    assert runs.matrices("gst", "spam").shape[0] == 0


def test_streams_stand_in_the_papers_order_and_curves_end_in_nan():
    runs = joined(made("own", st=[0.5]), made("spam", st=[0.5, 0.5]), made("ug_2c_2d", st=[0.5]))
    assert runs.streams == ["ug_2c_2d", "spam", "own"] and runs.main_streams == runs.streams[:2]
    assert made("own", st=[0.5]).main_streams == ["own"]
    curves = {"c": {"stspamnone0": np.array([1.0]), "stspamnone1": np.array([2.0, 3.0])}}
    found = dataclasses.replace(runs, curves=curves).curve("st", "spam", "c")
    assert np.array_equal(found, [[1, np.nan], [2, 3]], equal_nan=True)


def test_jittered_runs_and_ablations_stand_apart():
    runs = joined(
        made(ours=[0.9, 0.8], st=[0.5], static_bound=[0.95]),
        made(setting="gold=segment", ours=[0.4, 0.4]),
        made(setting="jitter=1e-6", ours=[0.9, 0.7]),
        made(setting="gold=segment, jitter=1e-6", ours=[0.4, 0.42]),
        made(**{"ours (ablation=no_xi)": [0.1]}),
    )
    settings, jittered = runs.by_setting(), runs.jittered()
    assert [*settings] == ["", "gold=segment"] == sorted(jittered)
    assert settings[""].variants == {"ours", "st", "static_bound"}
    assert settings["gold=segment"].static_bound("spam") == 0.95  # whatever gold is
    assert runs.ablated("").variants == {"ours", "ours (ablation=no_xi)"}
    table = tables.cells(settings, jittered, "acc_online").query("method == 'ours'")
    assert table.moved.tolist() == pytest.approx([0.1, 0.02])
    few, much = (tables.grid(Markdown(), part, ["spam"]) for _, part in table.groupby("setting"))
    assert ".850" in few and " ~" in few and " ~" not in much


def test_majority_is_a_row_of_real_streams_alone():
    """By seed, as test rows are; no method's own, so it is never the best."""
    real = made("real_gas", ours=[0.2, 0.3], st=[0.1, 0.1])
    real.frame["majority"] = real.frame.seed.map({0: 0.5, 1: 0.6})
    runs = joined(made(ours=[0.8]), made("archive_4cr", ours=[0.7]), real, made("own", ours=[0.9]))
    tested = tables.cells({"": runs}, {}, "acc_final").set_index(["method", "dataset"])
    assert tested.loc[("majority", "real_gas"), "per_seed"] == "0:0.5000 1:0.6000"
    assert tested.loc["majority"].n.to_dict()["spam"] == 0
    assert tested.best[tested.best].index.get_level_values("dataset").tolist() == runs.streams
    assert not tested.loc["majority"].best.any()
    blocks = tables.blocks(runs.streams)
    assert blocks == [["spam"], ["archive_4cr"], ["real_gas"], ["own"]]
    shown = [tables.grid(Markdown(), tested.reset_index(), block, short=True) for block in blocks]
    assert ["majority" in grid for grid in shown] == [False, False, True, False]
    assert "|majority|.550|" in shown[2] and "**.250**" in shown[2]
    assert [bool(tables.about(block)) for block in blocks] == [False, False, True, False]
    classes = tables.cells({"": runs}, {}, "macro_f1_online")
    assert "majority" not in set(classes.method)


def test_what_a_static_classifier_can_reach():
    """The end of the trade-off curve counts for its own rows and number of segments alone."""
    known = static_bounds().set_index("stream").loc["spam"]
    runs = made(T=int(known["T"]), static_bound=[0.5, 0.6], st=[0.1])
    assert np.isnan(runs.trade_off("spam")) and runs.reach("spam") == 0.55
    runs.frame["data_sha256"] = known.stream_sha256
    assert runs.reach("spam") == runs.trade_off("spam") == known.acc_final
    assert np.isnan(Runs(runs.frame.assign(T=3)).trade_off("spam"))
    assert np.isnan(made(st=[0.1]).reach("spam"))
