#!/usr/bin/env bash
# Builds the extension into .venv: build.sh dev|release. The package is installed editable.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=$1
cargo=$(scripts/setup.sh --cargo)
export PATH="$(dirname "$cargo"):$PWD/.venv/bin:$PATH" VIRTUAL_ENV="$PWD/.venv"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/crivello/target}"
flags=()
[ "$profile" = release ] && flags=(--release)

# Clones share the target directory: one builds at a time, up to the copy into its package.
mkdir -p "$CARGO_TARGET_DIR"
exec 9>"$CARGO_TARGET_DIR/.crivello.lock"
flock 9
scripts/claim.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "crivello: building the extension ($profile profile; minutes the first time, seconds after)" >&2
if ! .venv/bin/maturin develop --locked "${flags[@]}" >"$log" 2>&1 9>&-; then
    cat "$log" >&2
    echo "crivello: the extension could not be built (see above)" >&2
    exit 1
fi
echo "$profile" >.venv/.profile  # what benchmarks say they measured
