from __future__ import annotations

from pathlib import Path

import pytest

from crivello.config import SettingError, Settings, cold_changes, describe, from_environment
from crivello.errors import UsageError
from crivello.settings_file import reference

ROOT = Path(__file__).parents[2]


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_defaults_are_polite_and_allowed_by_their_own_rules():
    settings = Settings.load(environ={})
    assert settings.politeness.delay == 1
    assert settings.memory.total == 1 << 30
    assert settings.crawl.scope == "host"
    assert settings.sieve.kind == "mercator"
    again, changed = settings.override({item.key: item.default for item in describe()})
    assert again == settings
    assert changed == []


def test_sizes_and_times_are_read_by_name():
    settings, changed = Settings().override(
        {"memory.total": "1.5 GiB", "fetch.max_body": "2MB", "crawl.max_time": "1h30m",
         "politeness.delay": "250ms"}
    )  # fmt: skip
    assert settings.memory.total == 3 << 29
    assert settings.fetch.max_body == 2_000_000
    assert settings.crawl.max_time == 5400
    assert settings.politeness.delay == 0.25
    assert changed == ["crawl.max_time", "politeness.delay", "fetch.max_body", "memory.total"]


def test_the_file_outweighs_the_environment_and_the_command_line_outweighs_both(tmp_path):
    path = write(tmp_path / "crivello.toml", "[politeness]\ndelay = 2\n")
    environ = {
        "CRIVELLO_POLITENESS_DELAY": "3",
        "CRIVELLO_FETCH_VISITS": "7",
        "CRIVELLO_PAGE_FOLLOW": "a, area",
        "CRIVELLO_STORE_FSYNC": "true",
        "CRIVELLO_CACHE": "not a setting: of no section",
        "HOME": "/",
    }
    settings = Settings.load(path, environ=environ)
    assert settings.politeness.delay == 2
    assert settings.fetch.visits == 7
    assert settings.page.follow == ("a", "area")
    assert settings.store.fsync is True
    assert settings.override({"politeness.delay": 1.5})[0].politeness.delay == 1.5
    assert Settings.load(environ=environ).politeness.delay == 3


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("politeness.delay", -1, "seconds"),
        ("politeness.delay", "soon", "seconds"),
        ("politeness.delay", float("nan"), "seconds"),
        ("politeness.delay", float("inf"), "seconds"),
        ("memory.total", "1MiB", "at least 256MiB"),
        ("memory.total", "lots", "at least 256MiB"),
        ("sieve.kind", "colander", "mercator or memory"),
        ("fetch.visits", 0, "from 1 to 65536"),
        ("fetch.agent_name", "two words", "product token"),
        ("fetch.contact", "me", "mail address"),
        ("fetch.resolve", ["*.sim=nowhere"], "PATTERN=ADDRESS[:PORT]"),
        ("fetch.resolve", ["*.sim=127.0.0.1:70000"], "PATTERN=ADDRESS[:PORT]"),
        ("page.follow", ["a", "b"], "meta-refresh"),
        ("store.keep", "warc,pages,pictures", "none, or a list of"),
        ("crawl.max_pages", 0, "≥ 1"),
        ("crawl.max_time", "0s", "> 0"),
        ("near.k", 4, "0, 1, 2 or 3"),
    ],
)
def test_a_value_that_is_not_allowed_is_one_line_with_key_value_and_what_is(key, value, allowed):
    with pytest.raises(SettingError) as caught:
        Settings().override({key: value}, where="here")
    text = str(caught.value)
    assert text.startswith(f"here: {key} = {value!r}: allowed is ")
    assert allowed in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("text", "named", "nearest"),
    [
        ("[politeness]\ndelai = 1\n", "politeness.delai", "politeness.delay"),
        ("[polite]\ndelay = 1\n", "[polite]", "[politeness]"),
        ("delay = 1\n", "delay", "politeness.delay"),
        ("[fetch]\nkind = 'memory'\n", "fetch.kind", "sieve.kind"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest(tmp_path, text, named, nearest):
    path = write(tmp_path / "crivello.toml", text)
    with pytest.raises(UsageError) as caught:
        Settings.load(path, environ={})
    message = str(caught.value)
    assert str(path) in message
    assert named in message
    assert nearest in message
    assert "\n" not in message


def test_an_unknown_variable_of_a_section_is_an_error():
    with pytest.raises(SettingError, match=r"CRIVELLO_POLITENESS_DELAI.*politeness\.delay"):
        from_environment({"CRIVELLO_POLITENESS_DELAI": "1"})


def test_a_file_that_is_not_toml_or_not_there_is_one_line(tmp_path):
    path = write(tmp_path / "crivello.toml", "[politeness\n")
    with pytest.raises(UsageError, match="is not TOML"):
        Settings.load(path, environ={})
    with pytest.raises(UsageError, match="cannot be read"):
        Settings.load(tmp_path / "none.toml", environ={})
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(UsageError, match="not UTF-8"):
        Settings.load(tmp_path / "latin.toml", environ={})


def test_a_new_file_holds_every_setting_and_reads_back_the_same(tmp_path):
    settings, _ = Settings().override(
        {"crawl.seeds": ["https://a.example/"], "crawl.max_time": "10m", "memory.total": "512MiB",
         "fetch.resolve": "*.sim=127.0.0.1:80,v6.sim=[::1]:8080", "store.keep": "none"}
    )  # fmt: skip
    path = tmp_path / "crivello.toml"
    settings.save(path)
    assert Settings.load(path, environ={}) == settings
    text = path.read_text("utf-8")
    assert 'total = "512MiB"' in text
    for item in describe():
        assert item.description in text
    assert [entry.name for entry in tmp_path.iterdir()] == ["crivello.toml"]


def test_saving_keeps_a_persons_comments_and_order(tmp_path):
    path = write(
        tmp_path / "crivello.toml",
        "# mine\n[politeness]\ndelay = 2  # slow\n\n[crawl]\nscope = 'any' # all\nmax_pages = 5\n",
    )
    old = Settings.load(path, environ={})
    new, changed = old.override(
        {"politeness.delay": 3, "crawl.max_pages": None, "sieve.kind": "memory"}
    )
    assert changed == ["crawl.max_pages", "politeness.delay", "sieve.kind"]
    new.save(path)
    text = path.read_text("utf-8")
    assert text.startswith(
        "# mine\n[politeness]\ndelay = 3  # slow\n\n[crawl]\nscope = 'any' # all"
    )
    assert "max_pages" not in text
    assert Settings.load(path, environ={}) == new


def test_cold_changes_are_those_that_shape_the_disk():
    old = Settings()
    new, _ = old.override({"sieve.kind": "memory", "near.k": 2, "politeness.delay": 0})
    assert cold_changes(old.cold(), new.cold()) == ["sieve.kind", "near.k"]
    assert "politeness.delay" not in old.cold()


def test_the_reference_page_is_the_model():
    assert (ROOT / "docs/settings.md").read_text("utf-8") == reference()
