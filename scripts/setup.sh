#!/usr/bin/env bash
# Prepares a clone: finds Python >= 3.11 and cargo, makes .venv from requirements.lock.
# With --cargo it only prints the cargo to use, with --programs it only sees to the programs that
# tests need; with --docs it makes .venv-docs, for the site; with --bench it makes the environment
# of the benchmarks, where the peers are, in the cache, and prints its Python.
set -euo pipefail
cd "$(dirname "$0")/.."

need_rust=1.95

die() { printf 'crivello: %s\n' "$1" >&2; exit 1; }

at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Installs Debian packages when that is possible without asking anybody.
apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    { DEBIAN_FRONTEND=noninteractive apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy "$@"; } >&2
}

find_cargo() {
    local candidate
    for candidate in "$(command -v cargo || true)" "$HOME/.cargo/bin/cargo" /usr/lib/rust-web/bin/cargo; do
        [ -n "$candidate" ] && [ -x "$candidate" ] || continue
        if at_least "$("$candidate" --version 2>/dev/null | cut -d' ' -f2)" "$need_rust"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

find_python() {
    local candidate
    for candidate in python3.14 python3.13 python3.12 python3.11 python3; do
        if command -v "$candidate" >/dev/null &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

if [ "${1:-}" = --programs ]; then
    for program in chromium wget; do
        command -v "$program" >/dev/null || apt_install "$program" ||
            echo "crivello: $program is missing: the tests that need it are left out" >&2
    done
    exit
fi

if ! cargo=$(find_cargo); then
    apt_install cargo-web rustc-web && cargo=$(find_cargo) ||
        die "cargo $need_rust or newer is missing: install Rust with rustup, or Debian's packages cargo-web and rustc-web"
fi
[ "${1:-}" = --cargo ] && { printf '%s\n' "$cargo"; exit; }

command -v cc >/dev/null || apt_install gcc libc6-dev || die "a C compiler is missing: install gcc"

if ! python=$(find_python); then
    apt_install python3 python3-venv && python=$(find_python) ||
        die "Python 3.11 or newer is missing: install python3 and python3-venv"
fi

# environment DIR LOCK: a virtual environment with exactly what the lock file names.
environment() {
    local where=$1 lock=$2
    [ -x "$where/bin/python" ] && cmp -s "$lock" "$where/.requirements" && return
    echo "crivello: making the virtual environment $where" >&2
    "$python" -m venv --clear "$where" 2>/dev/null ||
        { apt_install python3-venv && "$python" -m venv --clear "$where"; } ||
        die "$python cannot make a virtual environment: install python3-venv"
    "$where/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
        --require-hashes -r "$lock" ||
        die "the locked dependencies could not be installed (see above)"
    cp "$lock" "$where/.requirements"
}

if [ "${1:-}" = --docs ]; then
    environment .venv-docs docs/requirements.lock
elif [ "${1:-}" = --bench ]; then
    # Clones share it: a folder for each lock file, filled by one at a time.
    cache=${BENCH_CACHE:-$HOME/.cache/crivello/bench}
    folder=$cache/$(sha256sum bench/requirements.lock | cut -c 1-12)
    mkdir -p "$cache"
    exec 9>"$cache/.lock"
    flock 9
    environment "$folder" bench/requirements.lock >&2
    echo "$folder/bin/python"
else
    environment .venv requirements.lock
fi
