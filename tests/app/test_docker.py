"""The Dockerfile and the compose file, read as a linter would: pinned, not as root, looked after, and with no secret in them."""

import re
from pathlib import Path

import pytest
import yaml

from app.scopes import ROUTES
from app.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str]]:
    """Instructions in order, with lines that go on joined and comments left out."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())]


def of(steps: list[tuple[str, str]], word: str) -> list[str]:
    return [rest for name, rest in steps if name == word]


def test_every_instruction_is_one(steps):
    known = {"FROM", "RUN", "CMD", "EXPOSE", "ENV", "COPY", "ENTRYPOINT", "VOLUME", "USER", "WORKDIR", "HEALTHCHECK", "STOPSIGNAL"}
    assert {word for word, _ in steps} <= known  # ADD, which fetches and unpacks, is not among them


def test_the_base_is_pinned_and_the_same_for_all_stages(steps):
    images = [re.fullmatch(r"(\S+):(\S+) AS \w+", rest).groups() for rest in of(steps, "FROM")]
    assert len(images) == 2
    assert len(set(images)) == 1
    assert re.match(r"\d+\.\d+\.\d+-", images[0][1])
    assert "latest" not in images[0][1]


def test_it_runs_as_nobody_in_particular_and_is_looked_after(steps):
    last = [rest for word, rest in steps if word in ("FROM", "USER")][-1]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", last)
    (check,) = of(steps, "HEALTHCHECK")
    assert "/livez" in check
    assert ("GET", "/livez") in ROUTES
    assert all(word in check for word in ("--interval=", "--timeout=", "--start-period="))
    assert of(steps, "VOLUME") == ["/data"]
    assert of(steps, "STOPSIGNAL") == ["SIGTERM"]


def test_commands_are_lists_so_that_signals_reach_them(steps):
    assert of(steps, "ENTRYPOINT") == ['["quire"]']
    assert of(steps, "CMD") == ['["serve"]']


def test_what_apt_fetched_is_removed_in_the_same_layer_and_nothing_comes_along(steps):
    apt = [rest for rest in of(steps, "RUN") if "apt-get" in rest]
    assert apt
    for rest in apt:
        assert "apt-get update" in rest
        assert "--no-install-recommends" in rest
        assert "rm -rf /var/lib/apt/lists/*" in rest
        assert "upgrade" not in rest
    assert "libfribidi0" in " ".join(apt)


def test_pip_takes_the_pinned_versions_and_keeps_nothing(steps):
    pip = [part for rest in of(steps, "RUN") for part in rest.split("&&") if "pip install" in part]
    assert pip
    assert all("--constraint constraints.txt" in part for part in pip)
    assert any("whl/cpu" in part for part in pip)
    assert "PIP_NO_CACHE_DIR=1" in " ".join(of(steps, "ENV"))


def test_what_is_copied_is_there_and_is_not_kept_out(steps):
    kept = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for rest in of(steps, "COPY"):
        if not rest.startswith("--from="):
            for name in rest.split()[:-1]:
                assert (ROOT / name).exists(), name
                assert name in kept


def test_its_variables_are_settings_and_no_secret_is_in_any_of_the_files(steps):
    said = " ".join(of(steps, "ENV"))
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    compose = (ROOT / "compose.yaml").read_text()
    assert set(re.findall(r"QUIRE_[A-Z_]+", said + compose)) <= known
    for text in ((ROOT / "Dockerfile").read_text(), compose):
        assert not re.search(r"qk_|password|secret_key|ARG |token=", text, re.IGNORECASE)
    assert "**/keys.json" in (ROOT / ".dockerignore").read_text()


def test_the_compose_file_publishes_to_this_machine_alone_and_lets_little_happen():
    told = yaml.safe_load((ROOT / "compose.yaml").read_text())
    service = told["services"]["quire"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["volumes"] == ["home:/data"]
    assert "home" in told["volumes"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert not service["image"].endswith("latest")
    assert "privileged" not in service
    # Docker kills what has not ended by then: it must be longer than what the server takes to end in good order.
    assert float(service["stop_grace_period"].removesuffix("s")) > float(service["environment"]["QUIRE_GRACE"]) + 30
    assert "quire key create" in (ROOT / "compose.yaml").read_text()
