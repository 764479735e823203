"""The page's first words: what to use, or what ran where there is nothing to compare."""

from report_made_up import results

from sdsl.report.claims import verdicts
from sdsl.report.claims.ranking import ranking
from sdsl.report.output.sections.answer import Answer, answer
from sdsl.report.runs.names import LITERAL, METRICS


def said(given) -> Answer:
    ranks = {metric: ranking(given, metric) for metric in METRICS}
    return answer(LITERAL, given, ranks, verdicts.judge(given))


def test_one_run_is_shown_and_not_what_did_not_run():
    given = results(methods=("ours",), datasets=("spam",), seeds=1)
    found = said(given)
    (run,) = given.frame.itertuples()
    assert found.headline == "One run: Ours on Spam, seed 0."
    assert f"Acc_t {run.acc_online:.3f}" in found.sentences[0]
    assert f"Acc_T {run.acc_final:.3f}" in found.sentences[0]
    assert not any("not run" in sentence for sentence in found.sentences)
    assert not found.ranked
    assert verdicts.tested(verdicts.judge(given)).startswith(
        "They test 2 of the paper's 169 claims"
    )


def test_a_clear_winner_is_recommended():
    given = results(methods=("st", "ours", "jt"), datasets=("spam", "satimage", "twonorm"))
    found = said(given)
    assert found.headline == "Use Ours."
    assert "mean rank 1.0 among 2 methods that read no labels, on 3 streams" in found.sentences[0]
    assert "gives 1.0 to 1.0" in found.sentences[0]
    assert found.sentences[-1].startswith("These runs test ")


def test_what_cannot_be_told_apart_is_named():
    given = results(methods=("st", "ours"), datasets=("spam", "satimage"), seeds=2)
    frame = given.frame
    frame.loc[frame.stream == "spam", "acc_online"] = [0.8, 0.8, 0.9, 0.9]  # ours, st
    frame.loc[frame.stream == "satimage", "acc_online"] = [0.9, 0.9, 0.8, 0.8]
    found = said(given)
    assert found.headline in (
        "ST ranks first, but Ours cannot be told apart from it.",
        "Ours ranks first, but ST cannot be told apart from it.",
    )
    assert any("ahead of it by 0.005 or more on 1 of 2 streams" in s for s in found.sentences)


def test_a_bound_is_not_recommended():
    found = said(results(methods=("jt",), datasets=("spam",), seeds=2))
    assert found.headline == "2 runs of JT on Spam."
    assert found.sentences[1] == "It reads true labels, so it is a bound and not a method to use."
