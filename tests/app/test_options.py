"""Settings as options: every one that a command takes reaches `Settings`, and what is left out is left to the other sources."""

import argparse

from app import options
from app.settings import Settings


def test_every_setting_is_an_option_of_serve_or_a_part_of_it():
    named = {*options.HOME, *options.MODEL, *options.INGEST, *options.PATCH, *options.ASK, *options.CHAT, *options.SERVE}
    assert named == set(Settings.model_fields)


def test_what_is_given_reaches_the_settings_and_what_is_not_stays_away(tmp_path):
    parser = argparse.ArgumentParser()
    options.add_settings(parser, *Settings.model_fields)
    args = parser.parse_args(["--home", str(tmp_path), "--top-k", "3", "--ram-bytes", "1MiB"])
    assert options.overrides(args) == {"home": str(tmp_path), "top_k": "3", "ram_bytes": "1MiB"}
    settings = options.settings_of(args)
    assert (settings.home, settings.top_k, settings.ram_bytes) == (tmp_path, 3, 1024**2)


def test_the_help_can_be_printed_with_every_description():
    parser = argparse.ArgumentParser()
    options.add_settings(parser, *Settings.model_fields)
    text = " ".join(parser.format_help().split())
    assert "Chunks that a question gathers." in text


def test_yes_or_no_is_said_by_the_option_alone_and_silence_leaves_it_to_the_other_sources(tmp_path, monkeypatch):
    parser = argparse.ArgumentParser()
    options.add_settings(parser, "home", "unchecked")
    assert options.settings_of(parser.parse_args(["--home", str(tmp_path), "--unchecked"])).unchecked is True
    silent = parser.parse_args(["--home", str(tmp_path)])
    assert options.settings_of(silent).unchecked is False
    monkeypatch.setenv("QUIRE_UNCHECKED", "true")
    assert options.settings_of(silent).unchecked is True
