"""The search: nothing of the eight in it, every variant a config, its arithmetic."""

import pandas as pd
import pytest
import support

from sdsl import search

EIGHT = {path.stem for path in (support.ROOT / "conf" / "dataset").glob("*.yaml")}


@pytest.mark.parametrize("words", search.STREAMS.values(), ids=search.STREAMS)
def test_streams_and_seeds_are_none_of_the_papers(words):
    dataset = support.config(*words.split())["dataset"]
    assert len(EIGHT) == 8
    assert not {dataset["name"], dataset.get("keel")} & EIGHT
    assert not set(search.SEEDS) & set(range(5))


def test_every_variant_is_one_change_of_ours():
    shipped = support.config("method=ours")
    assert search.VARIANTS[search.SHIPPED] == ""
    for name, words in search.VARIANTS.items():
        changed = support.config("method=ours", *words.split())
        assert (changed == shipped) == (name == search.SHIPPED), name


def test_gain_and_its_error_over_the_streams():
    other, (a, b, *_) = "10 rounds", search.STREAMS
    rows = [("as shipped", a, 0.5), ("as shipped", b, 0.7), (other, a, 0.6), (other, b, 0.72)]
    table = search.compared(pd.DataFrame(rows, columns=["variant", "stream", "acc_t"]))
    assert table.loc[other, ["mean", "gain", "se"]].tolist() == pytest.approx([0.66, 0.06, 0.04])
    assert table.loc["as shipped", ["gain", "se"]].tolist() == [0, 0]


def test_the_committed_search_covers_every_variant():
    table = search.compared(pd.read_csv(support.ROOT / "outputs" / "paper" / "search.csv"))
    assert list(table.index) == list(search.VARIANTS)
    assert list(table.columns) == [*search.STREAMS, "mean", "gain", "se"]


def test_an_unknown_variant_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        search.main(["no such thing"])
    assert "10 rounds" in capsys.readouterr().err
