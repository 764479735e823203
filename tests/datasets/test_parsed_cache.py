"""The cache of parsed files: used, never trusted when damaged, nothing half-written."""

from pathlib import Path

import numpy as np
import pytest

from sdsl.config.schema import DataConfig
from sdsl.datasets import cache, load, source

GOOD = "1.0,2.0,a\n3.0,4.0,b\n" * 10


def entries(data: DataConfig) -> list[Path]:
    return [p for p in Path(data.cache).rglob("*") if p.is_file()]


def test_the_second_load_does_not_parse(own, data, monkeypatch):
    settings = own(GOOD)
    first = load(settings, data)
    monkeypatch.setattr(source, "parse", lambda *_: pytest.fail("parsed again"))
    second = load(settings, data)
    assert np.array_equal(first.X, second.X) and first.classes == second.classes
    (entry,) = entries(data)
    assert first.sha256 in entry.name


def test_a_damaged_entry_is_made_again(own, data):
    settings = own(GOOD)
    first = load(settings, data)
    (entry,) = entries(data)
    entry.write_bytes(entry.read_bytes()[:100])
    assert np.array_equal(load(settings, data).X, first.X)


def test_a_changed_file_is_parsed_again(own, data):
    load(own(GOOD), data)
    assert load(own(GOOD.replace("4.0", "5.0")), data).X[1].tolist() == [3, 5]


def test_an_interrupted_write_leaves_nothing(own, data, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(cache.np, "savez", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load(own(GOOD), data)
    assert entries(data) == []


def test_a_full_disk_costs_the_entry_and_not_the_run(own, data, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.np, "savez", full)
    assert len(load(own(GOOD), data).y) == 20
    assert entries(data) == []
