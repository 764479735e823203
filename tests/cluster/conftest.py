"""Makes tests/cluster/servers.py importable, and never lets a test reach for a foreign cluster."""

import secrets
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
TOKEN = secrets.token_hex(32)  # one for all: a process reads it once


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", root, prepend=":")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # 15 would starve beside anything else
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
