"""An interrupt waits for the end of a shielded block, and is not lost."""

import os
import signal

import pytest

from sdsl import interrupt


@pytest.fixture(autouse=True)
def handlers():
    before = [(number, signal.getsignal(number)) for number in interrupt.SIGNALS]
    interrupt.install()
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.parametrize("number", interrupt.SIGNALS)
def test_a_signal_waits_inside_and_strikes_outside(number):
    steps = []
    with pytest.raises(KeyboardInterrupt) as stop, interrupt.shielded():
        with interrupt.shielded():
            os.kill(os.getpid(), number)
            steps.append("inner")
        steps.append("outer")
    assert steps == ["inner", "outer"]
    assert stop.value.args == (number,)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
