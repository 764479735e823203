"""The documents are true: links lead somewhere, tables are complete, numbers are those measured."""

import json
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import support
import yaml
from documents import CONF, DOCUMENTS, README, SWEEPS, Document, named

import sdsl
from sdsl.search import imbalance
from sdsl.search.table import compared, markdown
from sdsl.search.variants import FAMILIES

PAPER = support.ROOT / "outputs" / "paper"
PROJECT = tomllib.loads((support.ROOT / "pyproject.toml").read_text())["project"]
every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.name)


def test_the_readme_is_short():
    assert len(README.text.split()) <= 1500
    assert len(README.text.splitlines()) <= 200


@every_document
def test_links_lead_somewhere(document):
    for link in document.links():
        path, _, anchor = link.partition("#")
        target = (document.path.parent / path).resolve() if path else document.path
        assert target.exists(), link
        assert not anchor or anchor in Document(target).anchors(), link


def test_nothing_cites_a_document_that_is_not_here():
    absent = re.compile(r"\b(?:PROTOCOL|ALGORITHMS|DESIGN)\b|\.\./shared")
    folders = [PAPER, *(support.ROOT / name for name in ("conf", "sweeps", "sdsl", "tests"))]
    files = [path for folder in folders for path in folder.rglob("*.*")]
    texts = [path for path in files if path.suffix in (".md", ".py", ".yaml")]
    texts = [path for path in [README.path, *texts] if path != Path(__file__)]
    assert not [path for path in texts if absent.search(path.read_text(encoding="utf-8"))]


def test_every_method_stands_in_the_table():
    cells = " ".join(CONF.table("method"))
    assert set(re.findall(r"`(\w+)`", cells)) == set(support.METHODS)


def test_every_sweep_stands_in_the_table_with_its_runs():
    rows = SWEEPS.table("sweep")
    files = sorted((support.ROOT / "sweeps").glob("*.yaml"))
    assert sorted(rows) == [f"`{file.stem}`" for file in files]
    for file in files:
        said = re.search(r"^# (\d+) runs", file.read_text(encoding="utf-8"), re.M)
        assert rows[f"`{file.stem}`"][1] == said[1]


def test_every_room_is_described():
    rooms = [path.parent.name for path in (support.ROOT / "sdsl").glob("*/__init__.py")]
    text = " ".join(named("sdsl/README.md").table("room"))
    assert all(f"`{room}/" in text for room in rooms)


def test_the_citation():
    cited = yaml.safe_load((support.ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)  # required by CFF 1.2.0
    assert cited["version"] == sdsl.__version__ == PROJECT["version"]
    paper = cited["preferred-citation"]
    assert {"type", "title", "authors"} <= set(paper)
    names = [f"{author['given-names']} {author['family-names']}" for author in paper["authors"]]
    text = " ".join(README.text.split())
    assert ", ".join(names) in text
    assert paper["title"] in text


def test_hooks_use_the_installed_tools():
    hooks = yaml.safe_load((support.ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = hooks["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


# Numbers


def shown(value: float) -> str:
    """0.9363 as the tables of the README write it."""
    return f"{value:.3f}".removeprefix("0")


@pytest.fixture(scope="module")
def cells() -> dict[str, pd.DataFrame]:
    """metric -> the exported table; one row per method and dataset."""
    names = "acc_online", "acc_final"
    return {name: pd.read_csv(PAPER / "tables" / f"{name}.csv") for name in names}


@pytest.fixture(scope="module")
def tracked() -> pd.DataFrame:
    """The runs of the tracker and of what it is compared with on the archive."""
    return pd.read_csv(PAPER / "tracker" / "runs.csv")


def on_the_eight(cells: pd.DataFrame, tracked: pd.DataFrame) -> pd.DataFrame:
    """Mean Acc_t: one row per method, one column per dataset."""
    mean = cells.pivot(index="method", columns="dataset", values="mean")
    own = tracked[tracked.variant == "tracker"].groupby("stream").acc_online.mean()
    mean.loc["tracker"] = own.reindex(mean.columns)
    return mean


def test_the_table_of_the_readme(cells, tracked):
    mean = on_the_eight(cells["acc_online"], tracked)
    head = re.search(r"^\| method \|(.+)\|$", README.text, re.M)[1]
    datasets = [name.strip().lower() for name in head.split("|")]
    assert sorted(datasets) == sorted(mean.columns)
    rows = README.table("method")
    assert len(rows) >= 5
    for name, row in rows.items():
        method = re.match(r"`(\w+)`", name)[1]
        assert row == [shown(mean.loc[method, dataset]) for dataset in datasets], method


def test_the_other_numbers_of_the_readme(cells, tracked):
    online, final = cells["acc_online"], cells["acc_final"]
    known = [
        *on_the_eight(online, tracked).loc["tracker"],
        *online["mean"],
        *final["mean"],
        *online["static_bound"],
        *final["paper_mean"],
    ]
    known = {shown(value) for value in known if value == value}
    assert set(re.findall(r"(?<![\d.])\.\d{3}\b", README.text)) <= known


def test_what_the_readme_says_of_the_table(cells, tracked):
    frame = cells["acc_online"]
    mean = on_the_eight(frame, tracked)
    blind = mean.drop(["jt", "oracle_labels", "static_bound"], errors="ignore")
    lead = (mean.loc["record"] - mean.loc["ours"])[lambda gap: gap > 0]
    assert (len(lead), (lead < 0.01).sum()) == (6, 3)
    assert (blind.idxmax() == "tracker").sum() == 7
    assert blind.min(axis=1).idxmax() == "tracker"
    assert shown(blind.min(axis=1).max()) == ".931"
    own = tracked[(tracked.variant == "tracker") & tracked.stream.isin(mean.columns)]
    assert (len(own), own.lasting_swap.sum()) == (40, 0)
    assert shown(blind["spam"].max()) == shown(mean.loc["st", "spam"])
    swaps = frame.set_index(["method", "dataset"])["swaps"]
    assert swaps["ours", "mg_2c_2d"] == 5
    standing = frame.drop_duplicates("dataset").set_index("dataset")["standing"]
    assert standing["ug_2c_3d"] == "stand-in"
    assert set(standing[standing == "reconstruction"].index) == {"ug_2c_5d", "spam"}


def test_the_number_of_claims():
    verdicts = pd.read_csv(PAPER / "verdicts.csv").query("setting == 'literal'")["verdict"]
    n = verdicts.value_counts()
    assert n["not run"] == 1
    text = " ".join(README.text.split())
    assert f"makes {len(verdicts)} claims that can be tested" in text
    assert f"**{n['reproduced']} are reproduced, {n['not reproduced']} are not.**" in text
    assert f"Another {n['out of reach']} are out of reach" in text
    counts = (
        f"{len(verdicts)} claims are: {n['reproduced']} reproduced, {n['not reproduced']} not, "
        f"{n['out of reach']} out of reach, {n['not run']} not run"
    )
    assert counts in " ".join(named("outputs/paper/README.md").text.split())


def test_the_table_of_the_search():
    table = markdown(PAPER / "search.csv", FAMILIES["ours"])
    assert table.strip() in named("outputs/paper/SETTINGS.md").text


@pytest.mark.parametrize("method", ["gst", "sar"])
def test_baselines_were_searched_as_ours_was_and_the_rule_was_kept(method):
    family, file = FAMILIES[method], PAPER / f"search_{method}.csv"
    assert markdown(file, family).strip() in named("outputs/paper/SETTINGS.md").text
    table = compared(pd.read_csv(file), family)
    # All streams of the search for ours, no fewer settings, and nothing that the rule would take.
    assert list(family.streams) == list(FAMILIES["ours"].streams)
    assert len(table) >= len(pd.read_csv(PAPER / "search.csv").variant.unique())
    assert not table.isna().to_numpy().any()
    assert (table.gain <= 2 * table.se).all()


def test_the_trackers_ablation_and_the_streams_set_apart():
    family, text = FAMILIES["tracker"], named("outputs/paper/SETTINGS.md").text
    assert markdown(PAPER / "ablation.csv", family).strip() in text
    held = pd.read_csv(PAPER / "held_out.csv")
    assert list(held.stream) == list(family.held_out)
    means = f"mean Acc_t {shown(held.acc_t.mean())}, Acc_T {shown(held.acc_T.mean())}"
    assert means in " ".join(text.split())
    below = [f"{row.stream} ({shown(row.acc_t)})" for row in held[held.acc_t < 0.8].itertuples()]
    assert f"Below .8: {', '.join(below)}." in " ".join(text.split())


def test_the_streams_of_many_features_moved_and_the_others_hardly():
    runs = pd.read_csv(PAPER / "many_features.csv", index_col="stream")
    before, after = (runs.filter(like=name).mean(axis=1) for name in ("before", "after"))
    text = " ".join(named("outputs/paper/SETTINGS.md").text.split())
    assert f"mean {shown(before.mean())} → {shown(after.mean())}" in text
    assert f'"words" has {shown(after["words"])} instead of {shown(before["words"])}' in text
    gain = after - before
    assert set(gain.index[gain.abs() > 0.003]) == {"words", "stars turn", "crescent pairs"}
    assert set(runs.index) <= set(FAMILIES["tracker"].streams)


def test_the_table_of_registration():
    runs = pd.read_csv(PAPER / "registration.csv")
    assert runs.seed.min() >= 10
    by = runs.groupby("stream", sort=False)
    table = by[["before", "after"]].mean().assign(worst=by.after.min())
    table.loc["**mean**"] = table.mean()
    text = named("outputs/paper/SETTINGS.md").text
    for stream, row in table.iterrows():
        cells = (f"{value:.3f}".removeprefix("0") for value in row)
        assert f"| {stream} | {' | '.join(cells)} |" in text
    assert set(table.index[:-1]) <= set(FAMILIES["tracker"].streams)


def test_the_table_of_unequal_classes():
    table = imbalance.markdown(PAPER / "imbalance.csv")
    assert table.strip() in named("outputs/paper/SETTINGS.md").text


def test_what_one_run_costs():
    rows = json.loads((PAPER / "bench" / "store.json").read_text())["rows"]
    one, twelve, disk = (row["raw"] for row in rows)
    table = list(SWEEPS.table("per run").values())
    for row, part in enumerate(("Hydra", "data", "MLflow", "artifacts")):
        assert table[row] == [f"{raw[part]:.2f} s" for raw in (one, twelve)]
    assert table[5] == [f"{sum(raw.values()):.2f} s" for raw in (one, twelve)]
    assert table[6][1] == f"{disk['database'] / 1e3:.0f} kB"
    assert table[7][1] == f"{disk['artifacts'] / 1e3:.0f} kB in {disk['files']:.0f} files"


CONTEXT = ["acc_online", "acc_final", "acc_online_context", "acc_final_context"]


def test_the_tables_of_the_tracker(tracked):
    document = named("outputs/paper/tracker/README.md")
    mean = tracked.groupby(["variant", "stream"])[CONTEXT].mean()
    eight, archive = document.table("stream"), document.table("archive")
    assert (len(eight), len(archive)) == (8, 8)
    for name, row in eight.items():
        found = [mean.loc["tracker", name.lower()][c] for c in CONTEXT]
        found += [mean.loc["ours_tracker", name.lower()][c] for c in CONTEXT[:2]]
        assert row == [shown(value) for value in found], name
    for name, row in archive.items():
        found = [mean.loc[m, f"archive_{name}"].acc_online for m in ("tracker", "scargc", "st")]
        found.append(mean.loc["tracker", f"archive_{name}"].acc_final_context)
        found.append(mean.loc["ours_tracker", f"archive_{name}"].acc_online)
        assert row[:5] == [shown(value) for value in found], name


def test_the_runs_of_the_tracker_are_of_one_clean_commit(tracked):
    assert len(tracked) == 240
    assert not tracked.dirty.any()
    assert tracked.git_sha.nunique() == 1
    assert tracked.lasting_swap[tracked.variant.str.endswith("tracker")].sum() == 0


def test_the_bounds_of_the_replay():
    found = pd.read_csv(PAPER / "bounds.csv")
    assert (found.near == (found.below <= 0.02)).all()
    development = found[found.kind == "development"]
    text = " ".join(named("outputs/paper/SETTINGS.md").text.split())
    n = len(development)
    assert f"On {development.near.sum()} of {n} streams the replay is within .02 of 1-NN" in text
    rows = named("outputs/paper/SETTINGS.md").table("true labels, Acc_t")
    missed = development[~development.near]
    assert found[found.kind == "archive"].near.sum() == 5  # "the five of the archive"
    assert [name.partition(",")[0] for name in rows] == list(missed.stream)
    for row, line in zip(rows.values(), missed.itertuples(), strict=True):
        assert row[:2] == [shown(line.nearest), shown(line.oracle_labels)]
