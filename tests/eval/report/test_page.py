"""The page stands alone, is well formed whatever words are in it, and fits a wide and a narrow screen."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from eval.errors import EvalError
from eval.report.find import find
from eval.report.markup import VOID
from eval.report.page import page


class Strict(HTMLParser):
    """Every element is closed where it was opened; addresses and ids are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def parsed(results):
    parser = Strict()
    parser.feed(page(find(results)))
    parser.close()
    return parser


def test_it_is_well_formed_with_hostile_words_in_every_place(parsed) -> None:
    assert parsed.open == []
    tags = {tag for tag, _ in parsed.seen}
    assert tags.isdisjoint({"script", "link", "iframe", "object", "form"})
    assert not [name for _, attrs in parsed.seen for name in attrs if name.startswith("on")]


def test_nothing_is_fetched_and_every_picture_has_words(parsed) -> None:
    pictures = [attrs for tag, attrs in parsed.seen if tag == "img"]
    assert len(pictures) == 1
    assert all(picture["src"].startswith("data:") and picture["alt"] for picture in pictures)
    assert not [attrs for _, attrs in parsed.seen if str(attrs.get("href", "#"))[:1] != "#"]


def test_every_link_leads_to_a_part_and_missing_parts_are_named(parsed, results) -> None:
    ids = {attrs["id"] for _, attrs in parsed.seen if "id" in attrs}
    assert {attrs["href"][1:] for tag, attrs in parsed.seen if tag == "a"} == ids == {"q1", "q2", "q3", "q4", "kamera", "ttft"}
    assert page(find(results)).count("Not there: no results of this part") == 3


def test_two_results_of_one_task_both_stand_under_names_of_their_own(results) -> None:
    shutil.copytree(results / "q3", results / "other")
    said = page(find(results))
    assert said.count('id="q3"') == said.count('id="q3-2"') == 1
    assert "(q3/results.json)" in said


def test_a_document_of_another_form_is_named_and_not_passed_over(results) -> None:
    path = results / "q3" / "results.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    del facts["findings"]
    path.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(EvalError, match=r"q3/results\.json.*findings"):
        page(find(results))


@pytest.mark.slow
def test_it_fits_wide_and_narrow_screens_in_a_browser(results, tmp_path) -> None:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and driver):
        pytest.skip("no Chromium or no chromedriver here")
    webdriver = pytest.importorskip("selenium.webdriver", reason="the browser is driven by selenium")
    path = tmp_path / "report.html"
    path.write_text(page(find(results)), encoding="utf-8")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
    ):
        options.add_argument(flag)
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        for width in (320, 360, 1280):
            session.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
            )
            session.get(path.as_uri())
            # Tables scroll in their own boxes; the page never does.
            assert session.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            assert session.execute_script("return [...document.images].every((one) => one.naturalWidth > 0)")
        # A policy that was broken, or a script that tried, would stand here.
        assert session.get_log("browser") == []
    finally:
        session.quit()


def test_the_results_that_are_kept_here_make_a_page() -> None:
    """The folder that ships must be one that the command of its day can read."""
    kept = Path(__file__).resolve().parents[3] / "docs" / "results"
    said = page(find(kept))
    assert "Kamera" in said
    assert "patch r32" in said
