"""Every method has a look of its own, and a name for people."""

from sdsl.config.naming import known_methods
from sdsl.report.output.looks import LOOKS, looks
from sdsl.report.output.sections.section import DASHES, MARKERS
from sdsl.report.runs.names import method_name


def test_all_shipped_methods_can_be_told_apart():
    drawn = looks(known_methods())
    assert len(set(drawn.values())) == len(drawn) >= 18
    families = {look.family for look in drawn.values()}
    assert len({family.dash for family in families}) == len(families)
    assert len({family.marker for family in families}) == len(families)


def test_variants_and_methods_of_your_own_can_be_told_apart_too():
    names = [*LOOKS, *(f"ours (lookback.size={n})" for n in range(12)), "mine"]
    drawn = looks(names)
    assert len(set(drawn.values())) == len(names)
    assert all(drawn[name] == LOOKS[name] for name in LOOKS)  # the known ones keep theirs


def test_the_page_can_draw_every_look():
    for look in looks([*LOOKS, "mine"]).values():
        assert look.family.plotly_dash in DASHES
        assert look.family.plotly_marker in MARKERS


def test_names_for_people():
    assert method_name("pl_conf") == "PL_conf"
    assert method_name("oracle_labels") == "True labels"
    assert method_name("ours (lookback.size=20)") == "Ours (lookback.size=20)"
    assert method_name("mine (a=1)") == "mine (a=1)"
