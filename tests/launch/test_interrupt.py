"""An interrupt waits for the end of a shielded block, is not lost, and strikes only once."""

import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

from sdsl import interrupt


@pytest.fixture(autouse=True)
def handlers(monkeypatch):
    before = [(number, signal.getsignal(number)) for number in interrupt.SIGNALS]
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
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
    interrupt.install()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


def test_only_the_first_signal_strikes():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        os.kill(os.getpid(), number)  # while the command puts things in order
        with interrupt.shielded():
            os.kill(os.getpid(), number)


class Collected:
    """Something to be collected as garbage."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("where", ["callback", "__del__"])
def test_a_signal_while_garbage_is_collected_is_not_dropped(where):
    if where == "callback":
        thing = threading.Event()
        ref = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
        assert ref() is thing
    else:
        thing = Collected()
    with pytest.raises(KeyboardInterrupt) as stop:
        del thing  # the interrupt is raised in there, and Python goes on
        time.sleep(10)
    assert stop.value.args == (signal.SIGINT,)


def test_who_cannot_wait_gets_out():
    code = (
        "import os, signal, time\n"
        "from sdsl import interrupt\n"
        "interrupt.GRACE = 0.0\n"
        "interrupt.install()\n"
        "try: os.kill(os.getpid(), signal.SIGINT)\n"
        "finally:\n"
        "    os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 128 + signal.SIGTERM
