"""Alarms without labels: each is raised by a stream built for it, and calm streams raise none."""

import numpy as np
import pandas as pd
import pytest
import support

from sdsl.estimator import StreamClassifier
from sdsl.use import alarm_rates

COMMITTED = support.ROOT / "outputs" / "paper" / "alarms.csv"
SIZE, STEPS = 150, 6
EVEN = np.full(2, 0.5)


def stream(centres, shares=lambda t: EVEN, d=4, spread=0.5, seed=0):
    """Segments 0..STEPS of Gaussian classes; centres(t) [C, d] and shares(t) [C] set each."""
    rng = np.random.default_rng(seed)
    for t in range(STEPS + 1):
        y = rng.choice(len(shares(t)), SIZE, p=shares(t))
        yield rng.normal(0, spread, (SIZE, d)) + centres(t)[y], y


def warnings(segments, method="st") -> list[str]:
    """What each step says."""
    gold, *rest = segments
    model = StreamClassifier(method).fit(*gold)
    for X, _ in rest:
        model.adapt(X)
    return model.history_.warnings.tolist()


LEFT_RIGHT = np.array([[-2.0, 0, 0, 0], [2.0, 0, 0, 0]])


def test_a_calm_stream_is_silent():
    assert warnings(stream(lambda t: LEFT_RIGHT), "ours") == [""] * STEPS


def test_low_trust_in_gold():
    steps = np.arange(STEPS + 1)[:, None, None] * np.array([0, 0.8, 0, 0])
    said = warnings(stream(lambda t: LEFT_RIGHT + steps[t]), "ours")
    assert "low trust in gold" not in said[0]
    assert all("low trust in gold" in text for text in said[-2:])


@pytest.mark.parametrize("at", [1, 4])
def test_class_shares_far_from_the_last_steps(at):
    shares = lambda t: EVEN if t < at else np.array([0.9, 0.1])  # noqa: E731
    said = warnings(stream(lambda t: LEFT_RIGHT, shares))
    assert ["share of" in text for text in said] == [t == at for t in range(1, STEPS + 1)]


def test_two_classes_on_top_of_each_other():
    closer = lambda t: LEFT_RIGHT * max(0.0, 1 - 0.25 * t)  # noqa: E731
    said = warnings(stream(closer), "ours")
    assert "on top of each other" not in said[0] and "on top of each other" in said[-1]
    assert "0 and 1" in said[-1] or "1 and 0" in said[-1]


@pytest.mark.parametrize("at", [1, 3])
def test_a_segment_unlike_any_seen(at):
    said = warnings(stream(lambda t: LEFT_RIGHT + (0 if t < at else 10)))
    assert ["unlike anything" in text for text in said] == [t == at for t in range(1, STEPS + 1)]


def test_some_rows_unlike_any_seen():
    segments = list(stream(lambda t: LEFT_RIGHT))
    segments[2][0][:40] += 30
    assert ["unlike anything" in text for text in warnings(segments)] == [False, True, *[False] * 4]


def test_one_row_or_ten_raise_no_alarm_about_shares_or_trust():
    (X, y), *rest = stream(lambda t: LEFT_RIGHT)
    model = StreamClassifier("st").fit(X, y)
    for t, n in enumerate((1, 10, 1, 3, 19)):
        model.adapt(rest[t][0][:n])
    assert (model.history_.warnings == "").all()


def test_false_alarms_are_rare():
    """The others are in the table of sdsl/use/README.md, which the next tests hold."""
    found = alarm_rates.rates("st")
    assert found.segments == 200 and found.false <= 2
    assert min(found.caught.values()) >= len(alarm_rates.BUILT) - 1


def test_the_table_of_the_readme_is_that_of_the_committed_file(capsys):
    readme = (support.ROOT / "sdsl" / "use" / "README.md").read_text(encoding="utf-8")
    assert list(pd.read_csv(COMMITTED).method) == list(alarm_rates.METHODS)
    assert alarm_rates.main(["--markdown", str(COMMITTED)]) == 0
    assert capsys.readouterr().out in readme


def test_the_committed_file_is_what_the_command_writes(tmp_path, capsys):
    """Of all methods in it, those that take seconds are run here."""
    file = tmp_path / "new" / "alarms.csv"
    assert alarm_rates.main(["st", "scargc", "--out", str(file)]) == 0
    made = file.read_text().splitlines()
    committed = COMMITTED.read_text().splitlines()
    assert len(made) == 3 and set(made) < set(committed)
    assert capsys.readouterr().out.endswith(alarm_rates.markdown(file))


def test_a_method_that_cannot_be_used_is_one_sentence(tmp_path, capsys):
    file = tmp_path / "alarms.csv"
    assert alarm_rates.main(["jt", "--out", str(file)]) == 2 and not file.exists()
    assert "reads true labels" in capsys.readouterr().err
