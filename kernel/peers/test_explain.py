"""The page of forge explain --html in Chromium: choosing a value."""

import subprocess

import pytest

from test_lab import browser, pytestmark  # noqa: F401  a fixture, and where there is no Chromium

PROGRAM = """\
def centre(x):
    return x - mean(x, axis=-1, keepdims=True)

def spread(x: f32[16,128], scale: f32[128]):
    centred = centre(x)
    variance = mean(centred * centred, axis=-1, keepdims=True)
    return centred / (sqrt(variance) + 1) * scale + x
"""


@pytest.fixture
def explained(forge, tmp_path):
    """The path of a page."""
    (tmp_path / "spread.fs").write_text(PROGRAM)
    subprocess.run([forge, "explain", "spread.fs", "--html", "-o", "spread.html"], cwd=tmp_path, check=True)
    return tmp_path / "spread.html"


def opened(browser, path, **options):
    page = browser.new_page(viewport={"width": 1500, "height": 1000}, **options)
    page.problems = []
    page.on("pageerror", lambda e: page.problems.append(str(e)))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else page.problems.append(r.url))
    page.goto(path.as_uri())
    return page


def lit(page, within=""):
    return page.eval_on_selector_all(f"{within} .fx-lit", "list => list.map(e => e.textContent)")


def test_choosing_a_value(explained, browser):
    page = opened(browser, explained)
    columns = page.locator(".fx-col:has([data-d])").count()
    page.locator('[data-d="variance"] [data-v="variance"]').first.click()
    for i in range(columns):
        assert page.locator(".fx-col:has([data-d])").nth(i).locator('div.fx-lit[data-d="variance"]').count() == 1
    assert page.locator("span.fx-lit[data-s]").all_text_contents() == ["mean"]
    assert page.locator('svg.fx-plot g.fx-lit[data-v="variance"]').count() == 1
    assert "%variance" in page.locator(".fx-info").text_content()
    page.keyboard.press("Escape")
    assert lit(page) == []
    assert page.problems == []


def test_choosing_a_word_of_the_source(explained, browser):
    page = opened(browser, explained)
    page.locator("[data-s]", has_text="sqrt").click()
    lines = [text for text in lit(page, ".fx-col") if "= sqrt" in text]
    assert len(lines) == page.locator(".fx-col:has([data-d])").count()
    assert page.problems == []


def test_without_scripts(explained, browser):
    page = opened(browser, explained, java_script_enabled=False)
    body = page.locator("body")
    for text in ("%variance", "unchanged by", "variance = mean(centred"):
        assert text in body.inner_text()
    assert page.locator("img.fx-plot").is_visible()
    assert not page.locator(".fx-info").is_visible()
