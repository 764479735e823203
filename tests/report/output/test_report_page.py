"""The page in headless Chromium, wide and narrow: sort, filter and toggle by clicks."""

import shutil

import pytest
from report_made_up import SCRIPT

selenium = pytest.importorskip("selenium", reason="selenium is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars"),
)
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="module", params=SIZES)
def browser(request, tmp_path_factory):
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = CHROMIUM
    width, height = SIZES[request.param]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    # A window has a least width; emulation gives a phone's.
    metrics = {"width": width, "height": height, "pixelRatio": 1.0}
    options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, report):
    browser.get((report / "index.html").as_uri())
    return browser


def find(page, selector: str):
    return page.find_elements("css selector", selector)


def click(page, selector: str) -> None:
    (target, *_) = find(page, selector)
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", target)
    target.click()


def column(page, number: int) -> list[str]:
    cells = find(page, f"#table-acc_final-literal tbody tr > :nth-child({number})")
    return [cell.text.split("\n")[0] for cell in cells if cell.is_displayed()]


def test_it_opens_on_the_counts_without_errors(page):
    assert find(page, ".tile")[0].is_displayed()
    assert find(page, ".tile")[0].location["y"] < page.execute_script("return innerHeight")
    assert page.title == "SDSL: what reproduces"  # and is not owned
    assert SCRIPT in find(page, "#filter")[0].get_attribute("textContent")
    assert page.get_log("browser") == []


def test_nothing_is_wider_than_the_screen(page):
    wide = "return document.documentElement.scrollWidth - screen.width"
    assert page.execute_script(wide) <= 0


def test_a_head_sorts_best_first_and_gaps_last(page):
    head = "#table-acc_final-literal thead th:nth-child(5) button"  # UG_2C_5D
    click(page, head)
    first = column(page, 5)
    assert first == sorted(first, reverse=True)
    click(page, head)
    assert column(page, 5) == first[::-1]
    click(page, "#table-acc_final-literal thead th:nth-child(1) button")  # the paper's order
    assert column(page, 1)[:2] == ["ST", "JT"]
    click(page, "#table-acc_final-literal thead th:nth-child(9) button")  # all gaps
    assert column(page, 1)[:2] == ["ST", "JT"]


def test_a_method_toggles_in_tables_and_figures(page):
    if not find(page, "#filter[open]"):
        click(page, "#filter summary")
    number = find(page, "#table-acc_final-literal tbody tr")[0].get_attribute("data-m")
    marks = find(page, f'#figure-acc_t [data-m="{number}"]')
    assert marks
    assert all(mark.is_displayed() for mark in marks)
    box = f'input[data-filter="m"][value="{number}"]'
    click(page, box)
    assert not any(mark.is_displayed() for mark in marks)
    assert "ST" not in column(page, 1)
    click(page, box)
    assert all(mark.is_displayed() for mark in marks)
    click(page, '[data-none="m"]')
    assert column(page, 1) == []
    click(page, '[data-all="m"]')
    assert column(page, 1)[0] == "ST"


def test_a_dataset_filters_columns_and_verdicts(page):
    if not find(page, "#filter[open]"):
        click(page, "#filter summary")
    heads = "#table-acc_final-literal thead th"
    shown = [head.text for head in find(page, heads) if head.is_displayed()]
    assert "Satimage" in shown
    number = find(page, f"{heads}:nth-child(7)")[0].get_attribute("data-d")
    click(page, f'input[data-filter="d"][value="{number}"]')
    left = [head.text for head in find(page, heads) if head.is_displayed()]
    assert left == [name for name in shown if name != "Satimage"]
    rows = find(page, f'#claims-literal tr[data-d="{number}"]')
    assert rows
    assert not rows[0].is_displayed()


def test_a_tile_picks_its_verdicts(page):
    click(page, ".tile.v3")
    rows = [row for row in find(page, "#claims-literal tbody tr") if row.is_displayed()]
    assert rows
    assert {row.get_attribute("data-w") for row in rows} == {"3"}
    assert len(rows) == int(find(page, ".tile.v3 b")[0].text)


def test_a_cell_opens_to_its_seeds(page):
    click(page, "#table-acc_final-literal tbody tr td:nth-child(5) summary")
    small = find(page, "#table-acc_final-literal tbody td[data-d] details[open] small")[0]
    assert small.is_displayed()
    assert small.text.startswith("0:0.")


def test_dark_is_dark(page):
    def background() -> str:
        return page.execute_script("return getComputedStyle(document.body).backgroundColor")

    light = background()
    media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    assert background() == "rgb(21, 23, 27)" != light
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
