"""The page in headless Chromium at three widths, light and dark: looked at and clicked."""

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
SIZES = {"desktop": (1280, 900), "tablet": (820, 1180), "phone": (390, 844)}


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
    cells = find(page, f"#table-acc_online-literal tbody tr > :nth-child({number})")
    return [cell.text.split("\n")[0] for cell in cells if cell.is_displayed()]


def traces(page, selector: str) -> list[dict]:
    """What Plotly drew: name, whether it is shown, colour, dash and marker."""
    script = """const [selector, done] = arguments;
        document.querySelector(selector.split(" ")[0]).scrollIntoView({block: "center"});
        const wait = () => {
          const place = document.querySelector(selector);
          if (!place?.data) return setTimeout(wait, 20);
          done(place.data.map(t => ({
            name: t.name, shown: t.visible !== "legendonly", line: t.line, marker: t.marker,
            x: Array.from(t.x), y: Array.from(t.y)})));
        };
        wait();"""
    return page.execute_async_script(script, selector)


def choose(page, selector: str, value: str) -> None:
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
    page.execute_script(script, find(page, selector)[0], value)


def theme(page, name: str) -> str:
    """The page's background after a change of theme."""
    media = {"features": [{"name": "prefers-color-scheme", "value": name}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    return page.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_it_opens_on_the_answer_without_errors(page):
    (headline, *_) = find(page, ".headline")
    assert headline.is_displayed()
    assert headline.location["y"] < page.execute_script("return innerHeight") / 2
    first = "Ours w/o ILS ranks first, but 4 other methods cannot be told apart from it."
    assert headline.text == first
    assert page.title == "SDSL: which method, and what reproduces"  # and is not owned
    assert SCRIPT in find(page, "#methods")[0].get_attribute("textContent")
    assert len(traces(page, "[data-chart=ranks]")) == 11  # all but JT and the static bound
    assert page.get_log("browser") == []


@pytest.mark.parametrize("name", ["light", "dark"])
def test_nothing_is_cut_off_or_wider_than_the_screen(page, name):
    theme(page, name)
    wide = "return document.documentElement.scrollWidth - screen.width"
    assert page.execute_script(wide) <= 0
    # What is wider than the screen can be scrolled to, to its end.
    script = """const box = document.querySelector('#tables .wide:not([hidden])');
        box.scrollLeft = 1e6;
        const last = box.querySelector('thead th:last-child').getBoundingClientRect();
        return last.right <= box.getBoundingClientRect().right + 1;"""
    assert page.execute_script(script)
    assert page.get_screenshot_as_png().startswith(b"\x89PNG")
    assert page.get_log("browser") == []


def test_no_heading_hides_under_the_bar(page):
    bar = find(page, "#bar")[0].rect
    for link in find(page, "#bar .links a")[1:]:
        page.execute_script("arguments[0].click()", link)
        name = link.get_attribute("href").partition("#")[2]
        script = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
        assert page.execute_script(script, f"#{name} h2") >= bar["height"] - 1, name


def test_a_head_sorts_best_first_and_words_by_the_papers_order(page):
    head = "#table-acc_online-literal thead th:nth-child(2) button"
    click(page, head)
    first = column(page, 2)
    assert first == sorted(first, reverse=True)
    click(page, head)
    assert column(page, 2) == sorted(first)
    click(page, "#table-acc_online-literal thead th:nth-child(1) button")
    assert column(page, 1)[:2] == ["ST", "JT"]


def test_a_method_toggles_in_tables_and_figures(page):
    number = find(page, "#table-acc_online-literal tbody tr")[0].get_attribute("data-m")
    assert "ST" in {trace["name"] for trace in traces(page, "[data-chart=ranks]")}
    click(page, "[popovertarget=methods]")
    box = f'input[data-filter="m"][value="{number}"]'
    click(page, box)
    assert "ST" not in column(page, 1)
    assert "ST" not in {trace["name"] for trace in traces(page, "[data-chart=ranks]")}
    click(page, box)
    assert column(page, 1)[0] == "ST"
    click(page, '[data-none="m"]')
    assert column(page, 1) == []
    click(page, '[data-all="m"]')
    assert column(page, 1)[0] == "ST"


def test_a_stream_filters_columns_and_panels(page):
    heads = "#table-acc_online-literal thead th"
    assert traces(page, '[data-chart=tradeoff] [data-stream="1"]')
    click(page, "[popovertarget=methods]")
    click(page, 'input[data-filter="d"][value="1"]')
    assert [head.text for head in find(page, heads) if head.is_displayed()] == [
        "Method",
        "UG_2C_5D",
    ]
    assert not find(page, '[data-chart=tradeoff] [data-stream="1"]')
    assert find(page, '[data-chart=tradeoff] [data-stream="0"]')


def test_the_trade_off_curve_lies_behind_every_method(page):
    curve, *points = traces(page, '[data-chart=tradeoff] [data-stream="1"]')
    assert curve["name"] == "static trade-off"
    assert (curve["x"], curve["y"]) == ([0.6, 0.95], [0.9, 0.5])
    assert len(points) == 12  # every method but the static bound
    looks = {(p["marker"]["color"], p["marker"]["symbol"]) for p in points}
    assert len(looks) == len(points)
    assert "static trade-off" not in {
        t["name"] for t in traces(page, '[data-chart=tradeoff] [data-stream="0"]')
    }


def test_curves_change_toggle_and_zoom(page):
    drawn = {t["name"]: t for t in traces(page, "[data-chart=curves]") if t["name"]}
    assert {"ST", "Ours", "Record"} <= set(drawn)
    assert drawn["Ours"]["shown"]
    assert not drawn["DANN"]["shown"]  # few at first
    assert len(drawn["Ours"]["x"]) == 4
    looks = {(t["line"]["color"], t["line"]["dash"], t["marker"]["symbol"]) for t in drawn.values()}
    assert len(looks) == len(drawn) == 12
    choose(page, "#curve-kind", "flatness_one_sided")
    noisy = {t["name"] for t in traces(page, "[data-chart=curves]") if t["name"]}
    assert noisy == {name for name in drawn if name.startswith(("Ours", "Record"))}
    choose(page, "#curve-kind", "online")
    script = """const [place, done] = arguments;
        Plotly.relayout(place, {'xaxis.range': [2, 3]}).then(() => {
          document.getElementById('bands').click();
          setTimeout(() => done(place.layout.xaxis.range), 200);
        });"""
    place = find(page, "[data-chart=curves]")[0]
    assert page.execute_async_script(script, place) == [2, 3]  # bands off, the zoom stays
    toggle = """const [place, done] = arguments;
        place.querySelectorAll('.legendtoggle')[0].dispatchEvent(new MouseEvent('mousedown'));
        place.querySelectorAll('.legendtoggle')[0].dispatchEvent(new MouseEvent('mouseup'));
        setTimeout(() => done(place.data[0].visible), 600);"""
    assert page.execute_async_script(toggle, place) == "legendonly"


def test_claims_are_filtered_by_verdict_stream_and_section(page):
    def shown() -> list:
        return [row for row in find(page, "#claims-literal tbody tr") if row.is_displayed()]

    everything = shown()
    assert {row.get_attribute("data-w") for row in everything} <= {"0", "1", "2"}  # all tested
    for number in ("1", "2"):
        for button in find(page, f'#claims-literal [data-verdict="{number}"]'):
            click(page, f'#claims-literal [data-verdict="{number}"]')
            assert button.get_attribute("aria-pressed") == "false"
    rows = shown()
    assert {row.get_attribute("data-w") for row in rows} == {"0"}
    assert len(rows) == int(find(page, "#claims-literal .verdict.v0 b")[0].text) < len(everything)
    choose(page, '#claims-literal [data-claims="p"]', "4.4")
    rows = shown()
    assert rows and {row.get_attribute("data-p") for row in rows} == {"4.4"}
    choose(page, '#claims-literal [data-claims="d"]', "5")
    assert {row.get_attribute("data-on") for row in shown()} == {"5"}
    assert find(page, "#claims-literal [data-shown]")[0].text == f"{len(shown())} shown"


def test_the_whole_cell_can_be_clicked_and_tells_the_papers_number(page):
    click(page, '#tables [data-metric-button="acc_final"]')
    cell = find(page, "#table-acc_final-literal tbody tr:nth-child(7) td:nth-child(3)")[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", cell)
    box = cell.rect
    corner = """const r = arguments[0].getBoundingClientRect();
        const corner = document.elementFromPoint(r.right - 3, r.bottom - 3);
        return corner.closest('[data-cell]') !== null"""
    assert box["width"] > 20 and page.execute_script(corner, cell)
    hover = (
        "arguments[0].firstElementChild.dispatchEvent(new Event('pointerover', {bubbles: true}))"
    )
    page.execute_script(hover, cell)
    (tip,) = find(page, "#tip")
    assert tip.is_displayed()
    assert tip.text.startswith("Ours on Satimage: 0.")
    assert "paper 0.635 ± 0.034" in tip.text
    cell.click()
    (detail,) = find(page, "#detail")
    assert detail.is_displayed()
    assert "Seed Acc_T Run" in detail.text.replace("\n", " ")
    assert len(find(page, "#detail tbody tr")) == 2


def test_the_other_setting_shows_its_own(page):
    choose(page, "#setting", "calibrated")
    assert not find(page, "#table-acc_online-literal")[0].is_displayed()
    assert find(page, "#table-acc_online-calibrated")[0].is_displayed()
    assert [h.text for h in find(page, ".headline") if h.is_displayed()] == ["Use Ours."]


def test_all_runs_are_listed_on_demand(page):
    from selenium.webdriver.support.wait import WebDriverWait

    click(page, "#runs summary")
    WebDriverWait(page, 10).until(lambda page: find(page, "#runs tbody tr"))  # "toggle" is late
    rows = find(page, "#runs tbody tr")
    assert len(rows) == 13 * 2 * 2 + 4
    assert "l0" in rows[-1].get_attribute("textContent")


def test_dark_is_dark_also_in_the_figures(page):
    light = theme(page, "light")
    before = traces(page, "[data-chart=ranks]")
    assert theme(page, "dark") == "rgb(21, 23, 27)" != light
    page.execute_script("redraw()")
    after = traces(page, "[data-chart=ranks]")
    (st_light,) = [t["marker"]["color"] for t in before if t["name"] == "ST"]
    (st_dark,) = [t["marker"]["color"] for t in after if t["name"] == "ST"]
    assert (st_light, st_dark) == ("#1b1b1f", "#e8e8ea")
    theme(page, "light")
