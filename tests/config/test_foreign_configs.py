"""A config folder from somebody else chooses settings; it runs no code and fills no memory."""

from pathlib import Path

import pytest
from cli import ROOT, TINY, call, checked_only

from sdsl.config import trust
from sdsl.errors import UserError
from sdsl.estimator import StreamClassifier

GLOBAL = "# @package _global_\n"
CALLBACK = "hydra:\n  callbacks:\n    mine:\n      _target_: strangers.Callback\n"
LOGGING = "hydra:\n  job_logging:\n    version: 1\n    handlers:\n      a: {'()': strangers.run}\n"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
FILES = {  # a file of the folder, and the words that choose it
    ("sweeps/s.yaml", GLOBAL + CALLBACK): "+sweeps=s",
    ("sweeps/s.yaml", GLOBAL + "hydra: {launcher: {_target_: strangers.Callback}}"): "+sweeps=s",
    ("sweeps/s.yaml", GLOBAL + "hydra: {sweeper: {_target_: strangers.Callback}}"): "+sweeps=s",
    ("sweeps/s.yaml", GLOBAL + "hydra: {job: {env_set: {LD_PRELOAD: x.so}}}"): "+sweeps=s",
    ("sweeps/s.yaml", GLOBAL + LOGGING): "+sweeps=s",
    ("labeler/mine.yaml", "name: none\nmore: {_target_: strangers.Callback}"): "labeler=mine",
    ("hydra/launcher/mine.yaml", "_target_: strangers.Callback"): "hydra/launcher=mine",
    ("hydra/callbacks/mine.yaml", "it: {_target_: strangers.Callback}"): "hydra/callbacks=mine",
    ("labeler/mine.yaml", BOMB): "labeler=mine",
    ("labeler/mine.yaml", "name: none\nmore: &more [*more]"): "labeler=mine",
    ("labeler/mine.yaml", "name: none\nmore: '" + "x" * 2**20 + "'"): "labeler=mine",
    ("own.yaml", "defaults: [config]\nhydra: {searchpath: ['pkg://strangers']}"): "-cn=own",
}


@pytest.fixture
def mine(here, monkeypatch) -> Path:
    """A folder, and a module beside it that leaves a mark when it is imported or called."""
    (here / "strangers.py").write_text(
        "from pathlib import Path\nPath('ran').touch()\ndef run(**k): pass\n"
        "class Callback:\n    def __init__(self, **k): Path('ran').touch()\n"
    )
    monkeypatch.syspath_prepend(str(here))
    return here / "mine"


@pytest.mark.parametrize("mode", [(), ("-m",)])
@pytest.mark.parametrize(("file", "word"), FILES.items(), ids=[f"{n}" for n in range(len(FILES))])
def test_what_is_refused(mine, capfd, file, word, mode):
    path, text = mine / file[0], file[1]
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert call("--config-dir", str(mine), *mode, word, *TINY) == 2
    out, err = capfd.readouterr()
    assert not Path("ran").exists()
    assert "Traceback" not in err and len(err.strip().splitlines()) == 1, err
    assert "run no code" in err or "aliases" in err or "MB of YAML" in err
    assert out == ""


def test_a_folder_that_only_chooses_settings_is_used(mine, monkeypatch):
    setups = checked_only(monkeypatch)
    (mine / "sweeps").mkdir(parents=True)
    (mine / "labeler").mkdir()
    (mine / "labeler" / "sure.yaml").write_text("defaults: [confidence]\n")
    (mine / "sweeps" / "s.yaml").write_text(
        GLOBAL + "hydra: {mode: MULTIRUN, launcher: {n_jobs: 1}, sweeper: {params: {seed: '0,1'}}}"
    )
    assert call("--config-dir", str(mine), "+sweeps=s", "labeler=sure", "method=st") == 0
    assert [setup.seeds for setup in setups] == [[0, 1]]


def test_the_estimator_checks_its_folder_too(mine):
    (mine / "labeler").mkdir(parents=True)
    (mine / "labeler" / "mine.yaml").write_text(BOMB)
    with pytest.raises(UserError, match="aliases"):
        StreamClassifier("st", overrides={"labeler": "mine"}, config_dir=mine).fit(
            [[0.0], [1.0]], [0, 1]
        )


def test_every_target_of_ours_is_known():
    lines = [
        line.split()[1]
        for file in (ROOT / "conf").rglob("*.yaml")
        for line in file.read_text().splitlines()
        if line.strip().startswith("_target_:")
    ]
    assert lines and set(lines) <= trust.TARGETS


def test_the_size_of_a_file_with_aliases(tmp_path):
    (tmp_path / "a.yaml").write_text("a: &a [1, 2]\nb: [*a, *a]\n")
    trust.check_file(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").write_text(BOMB)
    with pytest.raises(UserError, match="more than 100,000 values"):
        trust.check_file(tmp_path / "b.yaml")
