"""Plain data written and read again; any other file is refused, and none is executed."""

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from support import bits

from sdsl.core.state import load_state, save_state
from sdsl.errors import UserError

PLAIN = {
    "numbers": [2**70, 0.1, -float("inf"), True, None, "ä"],
    3: (1, (2.5, [])),
    (1, "a"): {},
    "numbers in tensors": [torch.tensor(value) for value in ([[], []], [True], 5, torch.nan)],
    "tensors": [torch.arange(24.0).view(2, 3, 4)[:, 1:, ::2], torch.arange(6.0).view(2, 3).mT],
    "random numbers": torch.Generator().manual_seed(3).get_state(),
    "arrays": [np.arange(6).reshape(2, 3)[:, ::-1], np.float32([[1.5]]), np.array(7), np.zeros(0)],
}


def there_and_back(data, folder: Path):
    save_state(folder / "a", data)
    return load_state(folder / "a")


def test_plain_data_comes_back(tmp_path):
    back = there_and_back(PLAIN, tmp_path)
    assert bits(back) == bits(PLAIN)
    assert str(back) == str(PLAIN)  # types and shapes, too
    back["arrays"][0][0, 0] = 9  # it can be written to
    assert np.isnan(there_and_back(float("nan"), tmp_path))
    odd = {"a": defaultdict(float, b=1.5), "c": np.float64(0.1), "d": np.int64(4)}
    assert there_and_back(odd, tmp_path) == {"a": {"b": 1.5}, "c": 0.1, "d": 4}
    there_and_back(torch.ones(10_000, requires_grad=True)[:5], tmp_path)
    assert (tmp_path / "a").stat().st_size < 1000  # only what a view shows is written


@pytest.mark.parametrize("thing", [
    lambda x: x, print, object(), np.random.default_rng(0), b"bytes", {1, 2}, Path("a"), 1j,
    torch.Generator(), np.array(["text"]), np.array([None]),
])  # fmt: skip
def test_other_things_are_refused_by_their_place(thing, tmp_path):
    with pytest.raises(UserError, match=r"state\['labeler'\]\[1\] is a .* must be plain data"):
        save_state(tmp_path / "a", {"labeler": [0, thing]})
    assert not list(tmp_path.iterdir())


ABOUT = {"format": "sdsl state", "version": "2"}
TREES = ("", "{}", "[" * 100_000, '{"tensor": "y"}', '{"tensor": []}', '{"list": 3}')
TREES += ('{"float": "x"}', '{"dict": [[{"list": []}, 1]]}', '{"object": "os.system"}')


@pytest.mark.parametrize(("about", "says"), [
    (None, "not a state that this version of sdsl reads"),
    (ABOUT | {"format": "another"}, "format 'another'"),
    (ABOUT | {"version": "3"}, "version '3'; expected 'sdsl state', 2"),
    *[(ABOUT | {"tree": tree}, "not a whole state file") for tree in TREES],
])  # fmt: skip
def test_foreign_newer_and_damaged_files_are_refused(about, says, tmp_path):
    save_file({"x": torch.ones(2)}, tmp_path / "a", about)
    with pytest.raises(UserError, match=says):
        load_state(tmp_path / "a")


class Run:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_nothing_in_a_file_is_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"a": Run()}, "a")
    with pytest.raises(UserError, match="not a whole state file"):
        load_state("a")
    assert not Path("executed").exists()


def test_damage_is_refused_or_harmless(tmp_path):
    save_state(tmp_path / "a", PLAIN)
    data, rng = (tmp_path / "a").read_bytes(), np.random.default_rng(0)
    header = 8 + int.from_bytes(data[:8], "little")
    for at in rng.integers(header, size=300):
        (tmp_path / "b").write_bytes(data[:at] + bytes([rng.integers(32, 127)]) + data[at + 1 :])
        with suppress(UserError):
            load_state(tmp_path / "b")
    for end in (0, 4, header - 1, header, len(data) - 1):
        (tmp_path / "b").write_bytes(data[:end])
        with pytest.raises(UserError, match="b: not a whole state file"):
            load_state(tmp_path / "b")


def test_files_that_cannot_be_read_or_written(tmp_path, monkeypatch):
    save_state(tmp_path / "a", {"x": 1})
    for missing in ("none", "a/below a file", "."):
        with pytest.raises(UserError, match=r"no such file|cannot be read"):
            load_state(tmp_path / missing)
    for nowhere in ("none/b", "a/b"):
        with pytest.raises(UserError, match="cannot be written"):
            save_state(tmp_path / nowhere, {})

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"cannot be written .No space left"):
        save_state(tmp_path / "a", {"x": 2})
    assert load_state(tmp_path / "a") == {"x": 1}  # the old one is whole
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
