"""Fuzzing: the same examples every time, and an example that hangs fails instead."""

import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "sdsl",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("sdsl")

PATIENCE = 600  # seconds for one test, on a busy machine too


@pytest.fixture(autouse=True)
def no_hang():
    def stop(number, frame):
        raise TimeoutError(f"hangs: not done in {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
