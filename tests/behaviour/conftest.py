"""Fixtures of the behaviour tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import QUICK, Command


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """Settings with short waits, as a file."""
    path = tmp_path / "quick.toml"
    path.write_text(QUICK, "utf-8")
    return path
