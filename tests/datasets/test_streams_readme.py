"""sdsl/datasets/README.md is true: its commands are accepted, and it names all there is."""

import re
import shlex

import pytest
from dataset_support import ARCHIVE, REPO

from sdsl.config.compose import composed
from sdsl.config.schema import setup
from sdsl.datasets import check, load
from sdsl.datasets.orders import ORDERS
from sdsl.datasets.section import KINDS
from sdsl.datasets.source import STANDINGS

TEXT = (REPO / "sdsl" / "datasets" / "README.md").read_text()
RUNS = re.findall(r"^(?:\w+=\S+ )?python -m sdsl\.run (.*)$", TEXT, re.M)


@pytest.mark.parametrize("line", RUNS)
def test_every_run_command_is_accepted(line, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_stream.csv").write_text("u,class\n" + "1,a\n2,b\n" * 800)
    config = composed(*shlex.split(line, comments=True))
    setup(config)
    check(config["dataset"])
    if not config["data"]["download"]:
        assert len(load(config["dataset"], data).y) > 1000


def test_it_names_every_kind_standing_and_order():
    assert len(RUNS) == 7
    for word in (*KINDS, *STANDINGS, *ORDERS):
        assert f"| `{word}` |" in TEXT, word
    for name in ARCHIVE:
        assert f"`{name}`" in TEXT or f"`archive/{name}`" in TEXT
