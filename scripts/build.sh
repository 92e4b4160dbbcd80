#!/usr/bin/env bash
# Builds the extension into .venv: build.sh dev|release. The package is installed editable;
# .venv/.profile says which build it has.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=$1
cargo=$(scripts/setup.sh --cargo)
export PATH="$(dirname "$cargo"):$PWD/.venv/bin:$PATH" VIRTUAL_ENV="$PWD/.venv"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$HOME/.cache/crivello/target}"
flags=()
[ "$profile" = release ] && flags=(--release)
.venv/bin/maturin develop --quiet --locked "${flags[@]}"
echo "$profile" > .venv/.profile
