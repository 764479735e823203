"""Which changes of config, data and code make another run, and which do not."""

from pathlib import Path

import pytest
from support import blobs, composed

from sdsl.config import setup
from sdsl.tracking import identity
from sdsl.tracking.identity import describe, run_key, targets


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


@pytest.mark.parametrize(("section", "change", "same"), [
    ("learner", {"hidden": [7]}, False), ("lookback", {"size": 7}, False),
    ("eval", {"every": 2}, False), ("stream", {"gold": "segment"}, False),
    ("method", {"name": "mine"}, False), ("dataset", {"segment_size": 50}, False),
    ("seed", {"values": [7, 8]}, True),
    ("tracking", {"experiment": "other", "uri": "http://host"}, True),
    ("data", {"root": "/elsewhere"}, True), ("checkpoint", {"seconds": None}, True),
    ("dataset", {"sources": [], "expect": {"rows": 7}}, True),
])  # fmt: skip
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

    def own(*package: str, **more: str) -> str:
        labeler = {"_target_": component(tmp_path, *package, **more)}
        return key(composed("method=st") | {"labeler": labeler})

    one = own("lab_a")
    assert own("lab_b") == one, "another place"
    assert own("lab_c", "# changed") != one
    helped = [own(f"lab_{f}", "from .helper import f", helper=f"f = {f}") for f in (1, 2)]
    assert helped[0] != helped[1], "a file that it imports"


def test_numbers_depend_on_the_core_and_on_their_components_alone():
    robust = targets(composed("method=ours"))
    assert "sdsl.labelers.robust.Robust" in robust
    files = {file.as_posix().rpartition("sdsl/")[2] for file in identity.files(robust)}
    assert {"core/engine.py", "labelers/robust.py", "experiment.py"} <= files
    assert not any(file.startswith(("datasets", "tracking", "launch", "config")) for file in files)
    assert "replays/meta.py" not in files
