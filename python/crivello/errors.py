"""What can go wrong, as a person should read it."""

from __future__ import annotations


class Error(Exception):
    """Base of crivello's errors: one line that says what, where, and what to do."""

    exit_code = 1


class UsageError(Error):
    """The request itself is wrong: an unknown option, a bad value, a foreign directory."""

    exit_code = 2
