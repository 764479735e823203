"""No test of a cluster may ever reach a cluster that is not its own."""

import secrets

import pytest
from cli import ROOT

TOKEN = secrets.token_hex(32)  # one for all: a process reads it once


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # 15 would starve beside anything else
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
