"""The command line: one module a command group. `main` is the entry point."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from crivello.errors import Error

_CTRL_C = 130  # what the option parser makes of a KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the `crivello` command and exit with its code.

    0 nothing left to do, or a limit that was given is reached · 1 an error · 2 wrong usage ·
    3 interrupted or stopped, to be resumed.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        code = _run([argument for argument in given if argument != "--debug"])
        sys.stdout.flush()
    except BrokenPipeError:
        code = _reader_gone()
    except SystemExit as ending:  # so the option parser answers a broken pipe
        if not isinstance(ending.__context__, BrokenPipeError):
            raise
        code = _reader_gone()
    except KeyboardInterrupt:
        code = _fail("interrupted", 3)
    except Exception as error:
        if debug:
            raise
        code = _fail(*_explained(error))
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    from crivello.cli.app import app

    result = app(arguments or ["--help"], prog_name="crivello", standalone_mode=False)
    if result == _CTRL_C:
        raise KeyboardInterrupt
    return result if isinstance(result, int) else 0


def _reader_gone() -> int:
    """The reader (`| head`) has seen enough: that is no error, also not at the last flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _fail(message: str, code: int) -> int:
    print(f"crivello: {' '.join(message.split())}", file=sys.stderr)
    return code


def _explained(error: Exception) -> tuple[str, int]:
    """One line that says what went wrong, and the exit code."""
    if isinstance(error, Error):
        return str(error), error.exit_code
    if hasattr(error, "format_message"):  # of the option parser
        path = getattr(getattr(error, "ctx", None), "command_path", "crivello")
        return f"{error.format_message().rstrip('.')}; see {path} --help", 2
    if isinstance(error, OSError):
        if not error.strerror:  # of the kernels, whose text names the file
            return str(error), 1
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}", 1
    return f"{type(error).__name__}: {error} (--debug shows where)", 1
