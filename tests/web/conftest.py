"""A headless Chromium for the page's tests, and the folder where their screenshots go. Skips where the browser or its driver is absent."""

from __future__ import annotations

import base64
import json
import re
import shutil
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--lang=en",
)
PATIENCE = 60.0  # seconds until something that should happen has not happened


class Page:
    """The page in a browser: what a person does to it, and what they can see."""

    def __init__(self, driver: Any, base: str, pictures: Path) -> None:
        self.driver, self.base, self.pictures = driver, base.rstrip("/"), pictures

    def open(self, query: str = "") -> None:
        self.driver.get("about:blank")
        self.complaints()
        self.driver.get(f"{self.base}/{query}")
        self.until(lambda: self.js("return document.getElementById('says').textContent !== ''"), "the reader's sentence to be there")
        self.until(lambda: self.text("#shelf-state") != "Opening the shelf …", "the shelf to be open")

    def js(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def later(self, code: str, *arguments: Any) -> Any:
        """The value of an async function's body, awaited in the page."""
        wrapped = (
            "const done = arguments[arguments.length - 1]; (async (...given) => {" + code + "})(...arguments)"
            ".then((value) => done({value}), (error) => done({error: String(error)}));"
        )
        outcome = self.driver.execute_async_script(wrapped, *arguments)
        assert "error" not in outcome, outcome["error"]
        return outcome.get("value")

    def all(self, css: str) -> list[Any]:
        return [node for node in self.driver.find_elements("css selector", css) if node.is_displayed()]

    def one(self, css: str) -> Any:
        found = self.all(css)
        assert found, f"nothing visible matches {css}"
        return found[0]

    def texts(self, css: str) -> list[str]:
        return list(self.js("return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent.trim())", css))

    def text(self, css: str) -> str:
        return str(self.js("const node = document.querySelector(arguments[0]); return node ? node.textContent : ''", css))

    def until(self, true: Callable[[], Any], what: str) -> Any:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if value := true():
                return value
            time.sleep(0.05)
        raise AssertionError(f"waited {PATIENCE:.0f} s for {what}")

    def keys(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def ask(self, question: str) -> None:
        from selenium.webdriver.common.keys import Keys

        field = self.one("#question")
        field.clear()
        field.send_keys(question, Keys.ENTER)
        self.until(lambda: self.text("#answer-question") == question and self.all("#ask-button"), "the answer to be whole")
        self.settle()

    def settle(self) -> None:
        """Wait until no page image on screen is still on its way."""
        self.until(lambda: self.js("return [...document.images].every((i) => i.complete || i.loading === 'lazy')"), "the images")

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})

    def picture(self, name: str) -> None:
        # A dialog lies over what is on screen, not over the whole length of the page.
        whole = not self.js("return !!document.querySelector('dialog[open]')")
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})
        self.pictures.mkdir(parents=True, exist_ok=True)
        (self.pictures / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """What the browser has complained of since it was last asked. A 4xx answer is no complaint: the page shows it."""
        log = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        return [message for message in log if not re.search(r"status of 4\d\d", message)]

    def api(self, path: str, body: object = None) -> Any:
        """The server's own word, past the page."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.load(response)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A WebDriver for headless Chromium with a profile of its own."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("Chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    session.set_script_timeout(PATIENCE)
    yield session
    session.quit()


# The browser is asked for first: where there is none, no server need start.
@pytest.fixture(scope="session")
def visitor(chromium: Any, live_server: str) -> Page:
    """Somebody before the browser, at the address of a running Quire."""
    return Page(chromium, live_server, ROOT / "artefacts" / "web")


@pytest.fixture
def page(visitor: Page) -> Page:
    """The page, freshly opened on the collection "default", 1280 pixels wide and light."""
    visitor.look(1280)
    visitor.open()
    return visitor
