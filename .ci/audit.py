"""Known weaknesses of the pinned packages, by pip-audit: printed loudly, and never a failure.

Versions are pinned for reproduction, so an advisory of tomorrow must not break what runs today.
Where no advisory database answers, nothing was audited, and this says so.
"""

import json
import subprocess
import sys

SECONDS = 120


def main() -> int:
    line = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    line += ["--skip-editable", "--timeout", "10"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return said(f"SKIPPED: no answer from an advisory database in {SECONDS} seconds")
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return said(f"SKIPPED: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    return said(verdict(found))


def verdict(found: list[dict]) -> str:
    """What pip-audit's list of packages means."""
    asked = [package for package in found if "vulns" in package]
    if not asked:
        return f"SKIPPED: the advisory database knows none of the {len(found)} packages"
    known = [
        f"  {package['name']} {package['version']}: {flaw['id']}"
        f" (fixed in {', '.join(flaw.get('fix_versions') or ['no version yet'])})"
        for package in asked
        for flaw in package["vulns"]
    ]
    if not known:
        return f"{len(asked)} of {len(found)} packages audited, no known weakness"
    return "\n".join([f"WARNING: {len(known)} known weaknesses", *known])


def said(text: str) -> int:
    print(f"pip-audit: {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
