"""Run a command and print, as one line of JSON, its time, CPU time and peak memory.

A program of its own because a process inherits the peak of the one that starts it: this one is
small. CPU time is that of the command and of the children that it has waited for.
"""

import json
import os
import signal
import subprocess
import sys
import time


def main(limit: float, command: list[str]) -> None:
    """Print the figures of the command, which is stopped after `limit` seconds."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    signal.signal(signal.SIGALRM, lambda *_: process.terminate())
    signal.setitimer(signal.ITIMER_REAL, limit)
    _, status, usage = os.wait4(process.pid, 0)
    figures = {
        "exit": os.waitstatus_to_exitcode(status),
        "wall": time.perf_counter() - start,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * 1024,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
