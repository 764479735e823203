"""Which changes of config, data and code make another run, and which do not."""

from pathlib import Path

import pytest
from support import blobs, composed

from sdsl.config import setup
from sdsl.tracking import identity
from sdsl.tracking.identity import code_sha256, describe, run_key, targets


def key(config: dict, table=None) -> str:
    return describe(setup(config), table or blobs()).group_key


def test_a_group_and_its_tags():
    table = blobs(rows=600, classes=3)
    group = describe(setup(composed("method=st")), table)
    assert group.tags["rows"] == "600" and group.tags["classes"] == "3"
    assert group.tags["standing"] == "own" and group.tags["method"] == "st"
    assert group.tags["stream_sha256"] == table.digest()
    assert len({run_key(group.group_key, seed) for seed in range(5)}) == 5
    assert {len(group.tags[name]) for name in ("group_key", "code_sha256")} == {64}


@pytest.mark.parametrize(
    ("section", "change", "same"),
    [
        ("learner", {"hidden": [7]}, False),
        ("lookback", {"size": 7}, False),
        ("eval", {"every": 2}, False),
        ("stream", {"gold": "record"}, False),
        ("method", {"name": "mine"}, False),
        ("dataset", {"segment_size": 50}, False),
        ("seed", {"values": [7, 8]}, True),
        ("tracking", {"experiment": "other", "uri": "http://host"}, True),
        ("data", {"root": "/elsewhere"}, True),
        ("checkpoint", {"seconds": None}, True),
        ("dataset", {"sources": [], "expect": {"rows": 7}}, True),
    ],
)
def test_a_config_is_its_settings(section, change, same):
    config = composed("method=st")
    changed = config | {section: config[section] | change}
    assert (key(config) == key(changed)) is same


def test_a_note_changes_nothing_and_other_rows_do():
    config = composed("method=st")
    assert key(config) == key(config | {"note": "hi", "tags": {"owner": "me"}, "force": True})
    assert key(config) != key(config, blobs(seed=1))


def component(folder: Path, name: str, text: str = "", **more: str) -> str:
    """A package of a user's own with a labeler; its `_target_`."""
    package = folder / name
    package.mkdir()
    head = "from sdsl.core.contract import Labeler\n"
    (package / "own.py").write_text(f"{head}{text}\nclass Own(Labeler): ...\n")
    for other, source in more.items():
        (package / f"{other}.py").write_text(source)
    return f"{name}.own.Own"


def test_code_may_move_but_not_change(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    one = code_sha256((component(tmp_path, "lab_a"),))
    assert code_sha256((component(tmp_path, "lab_b"),)) == one, "another place"
    assert code_sha256((component(tmp_path, "lab_c", "# changed"),)) != one
    beside = component(tmp_path, "lab_d", "from .helper import f", helper="f = 1")
    changed = component(tmp_path, "lab_e", "from .helper import f", helper="f = 2")
    assert code_sha256((beside,)) != code_sha256((changed,)), "a file that it imports"


def test_a_class_that_moves_is_the_same_setting():
    config, table = composed("method=st"), blobs()
    moved = config | {"labeler": config["labeler"] | {"_target_": "sdsl.labelers.none2.NoLabels"}}
    reduced = [identity._without_places(identity.settings(c)) for c in (config, moved)]
    assert reduced[0] == reduced[1] and reduced[0]["labeler"]["_target_"] == "NoLabels"
    assert key(config, table)  # the class itself is found


def test_numbers_depend_on_the_core_and_on_their_components_alone():
    robust = targets(composed("method=ours"))
    assert "sdsl.labelers.robust.Robust" in robust
    files = {file.as_posix().rpartition("sdsl/")[2] for file in identity.files(robust)}
    assert {"core/engine.py", "labelers/robust.py", "experiment.py"} <= files
    assert not any(file.startswith(("datasets", "tracking", "launch", "config")) for file in files)
    assert "replays/meta.py" not in files
