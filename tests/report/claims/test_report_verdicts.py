"""Every claim of claims.yaml gets a verdict; the counts come first."""

from report_made_up import results

from sdsl.report.claims import book, verdicts
from sdsl.report.claims.book import PaperCell
from sdsl.report.claims.claim import ScoreClaim
from sdsl.report.runs.names import LITERAL
from sdsl.report.runs.results import Results


def test_the_book_holds_table_2_and_every_claim_can_be_tested():
    claims = book.claims()
    assert sum(claim.test == "cell" for claim in claims) == 56
    assert book.paper_cell("jt", "ug_2c_2d") == PaperCell(mean=0.907, std=0.0252)
    assert book.paper_cell("ours", "twonorm") == PaperCell(mean=0.964, std=0.015)
    assert book.paper_cell("eaml", "spam") == PaperCell(mean=0.725, std=0.014)
    assert book.paper_cell("mine", "spam") is book.paper_cell("ours", "mine") is None
    assert {claim.test for claim in claims} == set(book.TESTS)
    for claim in claims:
        assert "{" not in claim.text
        assert claim.where.startswith("4")
    found = verdicts.judge(results(seeds=2, T=3))
    assert len(found) == len(claims)
    assert sum(verdicts.counts(found).values()) == len(claims)
    assert verdicts.counts(found)["not run"] == 0


def test_a_slip_in_the_paper_is_shown_but_not_used_as_tolerance():
    (cell,) = [
        claim
        for claim in book.claims()
        if isinstance(claim, book.Cell) and (claim.method, claim.dataset) == ("pl_conf", "ug_2c_3d")
    ]
    assert cell.std == 0.219
    assert cell.tolerance == 2 * 0.0219


def test_nothing_run_is_not_run():
    empty = Results(results(methods=("ours",), datasets=("spam",), seeds=1).frame.iloc[:0])
    found = verdicts.judge(empty)
    assert verdicts.counts(found)["not run"] == len(found)


def test_the_papers_own_table_is_asked_too():
    said = {(v.id, v.dataset): v.in_paper for v in verdicts.judge(results(seeds=1, T=2))}
    assert said["jt-highest", "spam"] == ""  # the last of the two metrics, Acc_t, has no table
    claims = {
        (claim.id, claim.dataset): claim
        for claim in book.claims()
        if isinstance(claim, ScoreClaim) and claim.metric == "acc_final"
    }
    assert verdicts.in_paper(claims["jt-highest", "spam"]) == "no"  # Ours .973 > .971
    assert verdicts.in_paper(claims["st-lowest", "optdigits"]) == "no"  # PL_conf .406
    assert verdicts.in_paper(claims["ours-best-final", "spam"]) == "yes"
    assert verdicts.in_paper(claims["closest-to-jt", "spam"]) == "no"  # DANN and Ours tie


def test_the_counts_open_the_text():
    text = verdicts.markdown({LITERAL: verdicts.judge(results(seeds=2, T=2))})
    assert text.splitlines()[2].startswith("- Literal streams")
    assert "reproduced" in text.splitlines()[2]
