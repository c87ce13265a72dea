"""A headless Chromium, a Quire of the page's own to drive, and the folder where screenshots go. Skips where the browser or its driver is absent."""

from __future__ import annotations

import base64
import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
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
PATIENCE = 120.0  # seconds until something that should happen has not happened; a busy machine takes its time
ENTER = "\ue007"


class Quire:
    """A real server over one home, at one address, that can be stopped and started again."""

    def __init__(self, home: Path, **settings: Any) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.home, self._settings = home, settings
        self._server: Any = None
        self._listener: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self.house: Any = None

    def start(self) -> None:
        """Serve, and wait until the house is open."""
        from app.main import create_app
        from app.serve import listen, server_of
        from app.settings import Settings

        settings = Settings(home=self.home, port=self.port, grace=2, **self._settings)
        app, self._listener = create_app(settings), listen(settings)
        self._server = server_of(app, settings)
        sockets = {"sockets": [self._listener]}
        self._thread = threading.Thread(target=self._server.run, kwargs=sockets, name="page-server", daemon=True)
        self._thread.start()
        porch = app.state.porch
        loading = porch.reason
        while porch.house is None and porch.reason == loading and self._thread.is_alive():
            time.sleep(0.02)
        assert porch.house is not None, porch.reason
        self.house = porch.house

    def stop(self) -> None:
        if self._thread is not None:
            self._server.handle_exit(signal.SIGTERM, None)
            self._thread.join(30)
            self._listener.close()
            assert not self._thread.is_alive()
            self._thread = None

    def take_in(self, paths: tuple[Path, ...], collection: str) -> None:
        """Put files into a collection, past the page."""
        from ingest.pipeline import ingest

        report = ingest(paths, collection, self.house.workshop)
        assert len(report.done) == len(paths), report


class Page:
    """The page in a browser: what a person does to it, and what they can see."""

    def __init__(self, driver: Any, base: str, pictures: Path) -> None:
        self.driver, self.base, self.pictures = driver, base.rstrip("/"), pictures
        self.collection = "default"

    def open(self, query: str = "", wait: bool = True) -> None:
        """Open the page as in a browser that was never here, and wait for its shelf."""
        self.driver.get(f"{self.base}/static/mark.svg")
        self.js("localStorage.clear(); sessionStorage.clear()")
        self.complaints()
        self.driver.get(f"{self.base}/{query}")
        if wait:
            self.opened()

    def opened(self) -> None:
        self.until(lambda: self.text("#says") != "", "the reader's sentence to be there")
        self.until(lambda: self.text("#shelf-state") != "Opening the shelf …", "the shelf to be open")

    def reload(self) -> None:
        self.driver.refresh()
        self.opened()

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
        from selenium.common.exceptions import StaleElementReferenceException

        shown = []
        for node in self.driver.find_elements("css selector", css):
            # The page draws anew while it is looked at: what went meanwhile is not visible.
            with suppress(StaleElementReferenceException):
                if node.is_displayed():
                    shown.append(node)
        return shown

    def one(self, css: str) -> Any:
        found = self.all(css)
        assert found, f"nothing visible matches {css}"
        return found[0]

    def press(self, css: str) -> None:
        """Click what may be scrolled out of sight in a list of its own."""
        self.js("const node = document.querySelector(arguments[0]); node.scrollIntoView({block: 'center'}); node.click()", css)

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

    def type(self, question: str) -> None:
        """Ask, and do not wait. What was said before is wiped, so that it cannot be taken for the answer."""
        field = self.one("#question")
        field.clear()
        self.js("for (const id of ['answer-facts', 'answer-note']) document.getElementById(id).textContent = ''")
        field.send_keys(question, ENTER)

    def ask(self, question: str) -> None:
        self.type(question)
        self.until(lambda: self.text("#answer-question") == question and self.all("#ask-button"), "the answer to be whole")
        self.until(lambda: self.text("#answer-facts") or self.text("#answer-note"), "what is said of the answer")
        self.settle()

    def settle(self) -> None:
        """Wait until no page image of the answer is still on its way."""
        self.until(lambda: not self.js("return document.querySelectorAll('#pages .sheet.waiting').length"), "the images")

    def upload(self, *paths: Path) -> None:
        self.driver.find_element("id", "files").send_keys("\n".join(map(str, paths)))

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})

    def fits(self) -> bool:
        return bool(self.js("return document.documentElement.scrollWidth <= window.innerWidth"))

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

    def api(self, path: str, body: object = None, method: str | None = None, key: str = "") -> Any:
        """The server's own word, past the page; None where it says 404."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None


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


@pytest.fixture(scope="session")
def new_quire(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Quire]]:
    """Starts a Quire over a new home. The browser is asked for first: where there is none, no server need start."""
    begun: list[Quire] = []

    def start(**settings: Any) -> Quire:
        begun.append(Quire(tmp_path_factory.mktemp("page"), **settings))
        begun[-1].start()
        return begun[-1]

    yield start
    # A page that is open would hold its stream of jobs until the server gives up waiting.
    chromium.get("about:blank")
    for server in begun:
        server.stop()


@pytest.fixture(scope="session")
def visit(chromium: Any) -> Callable[[str], Page]:
    """Somebody before the browser, at an address."""
    return lambda url: Page(chromium, url, ROOT / "artefacts" / "web")


@pytest.fixture(scope="session")
def quire(new_quire: Callable[..., Quire], records: tuple[Path, ...]) -> Quire:
    """A running Quire with `records` in the collection "default". It is asked faster than a person asks: nothing is rationed."""
    server = new_quire(queue=2, rate=0, ask_rate=0)
    server.take_in(records, "default")
    return server


@pytest.fixture(scope="session")
def visitor(visit: Callable[[str], Page], quire: Quire) -> Page:
    """Somebody before that Quire."""
    return visit(quire.url)


@pytest.fixture
def page(visitor: Page) -> Page:
    """The page, freshly opened on the collection "default", 1280 pixels wide and light."""
    visitor.look(1280)
    visitor.open()
    return visitor


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., Any]:
    """Runs one of the page's scripts in Node: `node(module, call, *given)` is the value of `call`, in which `it` is the module."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    # The folder has no package.json, so a copy says that its scripts are modules.
    shutil.copytree(ROOT / "web", tmp_path / "web")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")

    def run(module: str, call: str, *given: object) -> Any:
        script = tmp_path / "run.js"
        body = f"import * as it from './web/{module}';\nconst given = {json.dumps(given)};\nconsole.log(JSON.stringify(await {call}));\n"
        script.write_text(body, encoding="utf-8")
        done = subprocess.run(["node", str(script)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
