"""CI audits the pinned packages: findings are printed, and a missing database is said."""

import importlib.util
import subprocess

import pytest
import support

FILE = support.ROOT / ".ci" / "audit.py"


@pytest.fixture
def audit():
    spec = importlib.util.spec_from_file_location("audit", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_the_list_of_packages_means(audit):
    flaw = {"id": "PYSEC-1", "fix_versions": ["2.0"]}
    clean, bad = {"name": "a", "version": "1", "vulns": []}, {"name": "b", "version": "1"}
    skipped = {"name": "c", "skip_reason": "Dependency not found on PyPI"}
    assert "1 of 2 packages audited, no known weakness" in audit.verdict([clean, skipped])
    assert audit.verdict([skipped]).startswith("SKIPPED")  # pip-audit itself says: none found
    said = audit.verdict([clean, {**bad, "vulns": [flaw]}])
    assert said.startswith("WARNING: 1 ") and "b 1: PYSEC-1 (fixed in 2.0)" in said


@pytest.mark.parametrize("trouble", ["slow", "broken"])
def test_no_database_is_a_skip(audit, monkeypatch, capsys, trouble):
    def run(*args, timeout, **kwargs):
        if trouble == "slow":
            raise subprocess.TimeoutExpired(args, timeout)
        return subprocess.CompletedProcess(args, 1, "", "ERROR: no route to host\n")

    monkeypatch.setattr(audit.subprocess, "run", run)
    assert audit.main() == 0
    assert capsys.readouterr().out.startswith("pip-audit: SKIPPED")


def test_ci_asks():
    assert "python .ci/audit.py" in (FILE.parent / "run").read_text()
