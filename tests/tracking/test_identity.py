"""Who a run is: config, data, seed and code decide, and nothing else."""

from sdsl import experiment
from sdsl.config.compose import composed
from sdsl.tracking import identity


def setup(*overrides: str):
    return experiment.setup(composed("method=st", *overrides))


def test_identity_is_config_data_seed_and_code():
    key = identity.group_key(setup(), "data")
    assert identity.group_key(setup("seed=paper", "force=true"), "data") == key
    assert identity.group_key(setup("data.root=/elsewhere"), "data") == key
    assert identity.group_key(setup("fuse=false", "tracking.experiment=x"), "data") == key
    assert identity.group_key(setup(), "other data") != key
    assert identity.group_key(setup(), "data", "other code") != key
    assert identity.group_key(setup("eval.every=2"), "data") != key
    assert identity.group_key(setup("dataset.segment_size=99"), "data") != key
    assert identity.group_key(setup("method=jt"), "data") != key
    assert identity.run_key(key, 0) != identity.run_key(key, 1)


def test_code_that_counts_and_code_that_does_not():
    files = identity.code_files(setup())
    core = {f"sdsl.core.{name}" for name in ("engine", "learner", "metrics", "stream")}
    assert core | {"sdsl.labelers.none", "sdsl.replays.none", "sdsl.probes.none"} < files.keys()
    outside = ("datasets", "tracking", "launch", "report", "bench", "run", "labelers.oracle")
    assert not [name for name in files if name.startswith(tuple(f"sdsl.{o}" for o in outside))]
    assert "sdsl.labelers.oracle" in identity.code_files(setup("method=jt"))


def test_a_changed_file_is_another_code(tmp_path, monkeypatch):
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "part.py").write_text(
        "from sdsl.labelers.none import NoLabels\nfrom . import helper\nclass Part(NoLabels): ...\n"
    )
    helper = tmp_path / "strange" / "helper.py"
    helper.write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = composed("method=st") | {"labeler": {"name": "strange.part"}}
    made = experiment.setup(config)
    assert "strange.helper" in identity.code_files(made)
    before = identity.code_sha256(made)
    helper.write_text("x = 2\n")
    identity._code_sha256.cache_clear()
    assert identity.code_sha256(made) != before


def test_the_shape_of_the_data_that_ran_is_described():
    made = setup("dataset=twonorm")
    table = experiment.load(made)
    group = identity.describe(made, table)
    assert (group.data_rows, group.data_features, group.data_classes) == (*table.X.shape, 2)
    assert group.tags()["data_rows"] == str(len(table.y))
    assert group.name == "st · twonorm"
    assert group.group_key == identity.group_key(made, table.digest())
