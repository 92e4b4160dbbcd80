"""Fixtures of the behaviour tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)
