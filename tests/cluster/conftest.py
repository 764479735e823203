"""No test of a cluster may ever reach a cluster that is not its own."""

import secrets

import pytest
from cli import ROOT

TOKEN = secrets.token_hex(32)  # one for all: a process reads it once


@pytest.fixture(autouse=True, scope="module")
def alone():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT), prepend=":")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # 15 would starve beside anything else
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)
        patch.delenv("RAY_ADDRESS", raising=False)
        yield
