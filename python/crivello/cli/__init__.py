"""The command line: one module a command group."""

from __future__ import annotations


def main() -> None:
    """Run the `crivello` command."""
