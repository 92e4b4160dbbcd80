"""`crivello.toml`: written in full and explained when new, edited in place afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import tomlkit

from crivello.config import Described, Settings, describe, field, is_size, read_toml
from crivello.errors import UsageError
from crivello.units import format_size

if TYPE_CHECKING:
    from tomlkit.items import Table

_HEAD = (
    "Settings of this crawl. A change is taken up by the next `crivello crawl -o DIR`;",
    "those marked (cold) were fixed when the crawl was made.",
)


def save(settings: Settings, path: Path) -> None:
    """Write `settings` to `path` by a rename; comments and order of an existing file stay."""
    text = edited(settings, path) if path.exists() else written(settings)
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.write_text(text, "utf-8")
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def written(settings: Settings) -> str:
    """A new file: every setting with its description, the unset ones as comments."""
    document = tomlkit.document()
    for line in _HEAD:
        document.add(tomlkit.comment(line))
    table: Table | None = None
    for item in describe():
        section, name = item.key.split(".")
        if section not in document:
            document.add(tomlkit.nl())
            table = tomlkit.table()
            document.add(section, table)
        assert table is not None
        value = settings[item.key]
        table.add(tomlkit.comment(item.description + ("" if item.hot else " (cold)")))
        if value is None:
            table.add(tomlkit.comment(f"{name} = …  ({item.allowed})"))
        else:
            table.add(name, _value(item, value))
    return tomlkit.dumps(document)


def edited(settings: Settings, path: Path) -> str:
    """The file's own text with the values that differ replaced, added or removed."""
    old = Settings().override(read_toml(path), where=str(path))[0]
    document = tomlkit.parse(path.read_text("utf-8"))
    for item in describe():
        section, name = item.key.split(".")
        value = settings[item.key]
        if value == old[item.key]:
            continue
        if section not in document:
            document.add(section, tomlkit.table())
        table = document[section]
        assert isinstance(table, dict)
        if value is None:
            table.pop(name, None)
        else:
            table[name] = _value(item, value)
    return tomlkit.dumps(document)


def _value(item: Described, value: object) -> object:
    if is_size(item.key) and isinstance(value, int):
        return format_size(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return list(value) if isinstance(value, tuple) else value


def reference() -> str:
    """The text of `docs/settings.md`."""
    lines = [
        "# Settings",
        "",
        "Every crawl has its settings in `DIR/crivello.toml`, one table a section, written in",
        "full when the crawl is made. A value comes, in rising order of weight, from the default,",
        "the environment (`CRIVELLO_<SECTION>_<KEY>`; lists separated by commas), the file, the",
        "command line. An option given again when a crawl is resumed replaces the value and is",
        "written to the file; your comments in it stay.",
        "",
        "*hot* settings may be changed on a crawl that exists; *cold* ones shape what is on disk",
        "and are refused then. Times are seconds, or text with a unit: `500ms`, `90s`, `10m`,",
        "`1h30m`, `2d`. Sizes are bytes, or text with a unit: `64KiB`, `10MiB`, `1GiB` (powers of",
        "1024), `1GB` (of 1000), `512M` (of 1024). An unknown key is an error that names the",
        "nearest one; a value that is not allowed is an error that says what is.",
        "",
        "This page is made from the model in `python/crivello/config.py`;",
        "`python scripts/reference.py` renews it.",
    ]
    section = ""
    for item in describe():
        if (now := item.key.split(".")[0]) != section:
            section = now
            model = Settings.model_fields[section].annotation
            assert model is not None
            lines += ["", f"## [{section}]", "", f"{model.__doc__}", ""]
            lines += ["| key | default | | allowed | what it does |", "|---|---|---|---|---|"]
        temper = "hot" if item.hot else "cold"
        lines.append(
            f"| `{item.key.split('.')[1]}` | {_default(item)} | {temper} | {item.allowed} |"
            f" {item.description} |"
        )
    return "\n".join(lines) + "\n"


def _default(item: Described) -> str:
    value = field(item.key).default
    if value is None:
        return "unset"
    return f"`{tomlkit.item(_value(item, value)).as_string()}`"


if __name__ == "__main__":
    print(reference(), end="")
