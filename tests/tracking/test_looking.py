"""The address that a command prints last, followed in Chromium: it shows the runs."""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request

import pytest
from cli import SERIAL, TINY, call, runs
from servers import HOST, _wait, free_port

from sdsl.tracking import looking

selenium = pytest.importorskip("selenium", reason="selenium is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--window-size=1600,1000"),
)
PATIENCE = 120  # seconds for MLflow's page to show runs, on a busy machine


@pytest.fixture
def browser(tmp_path_factory):
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def port(here, monkeypatch) -> int:
    """Where `mlflow ui` will listen, which the printed address then says, too."""
    number = free_port()
    monkeypatch.setattr(looking, "HERE", f"http://{HOST}:{number}")
    return number


@pytest.fixture
def follow(port, browser, here, tmp_path_factory):
    """Types the printed command, opens the printed address; what it shows is in the answer."""
    from selenium.webdriver.support.ui import WebDriverWait

    servers = []

    def open_and_wait(out: str, *names: str) -> str:
        command, page = re.search(r"Look at them: (mlflow ui), then open (\S+)", out).groups()
        if not servers:
            line = [sys.executable, "-m", *command.split(), "--port", str(port), "--workers", "1"]
            lean = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
            log = subprocess.DEVNULL
            servers.append(
                subprocess.Popen(line, stdout=log, stderr=log, env=lean, start_new_session=True)
            )
            health = f"http://{HOST}:{port}/health"
            _wait(lambda: urllib.request.urlopen(health, timeout=2).close(), servers[0])
        browser.get("about:blank")
        browser.get(page)
        try:
            WebDriverWait(browser, PATIENCE).until(
                lambda page: all(name in text(page) for name in names)
            )
        finally:
            browser.save_screenshot(str(tmp_path_factory.mktemp("seen") / "page.png"))
        return text(browser)

    yield open_and_wait
    for server in servers:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def text(page) -> str:
    return page.find_element("tag name", "body").text


def test_the_printed_address_shows_the_runs(follow, capfd):
    assert call(*TINY, "seed=0,1") == 0
    parent = "st (learner.pretrain.steps=5) · twonorm · max_segments=2"
    seen = follow(capfd.readouterr().out, parent)
    assert "twonorm (" in seen  # the column Dataset: name and digest

    assert call("-m", SERIAL, *TINY, "lookback.size=20,30") == 0
    names = [run.info.run_name for run in runs("group") if "lookback.size" in run.info.run_name]
    assert len(names) == 2
    seen = follow(capfd.readouterr().out, *names)
    assert parent not in seen  # of another command
