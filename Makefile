# Every verb does its own set-up on a fresh clone; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build release demo test lint bench docs clean

CACHE ?= $(HOME)/.cache/crivello
export CARGO_TARGET_DIR ?= $(CACHE)/target
export PIP_CACHE_DIR ?= $(CACHE)/pip
export SITES_CACHE ?= $(CACHE)/sites
export BENCH_CACHE ?= $(CACHE)/bench
PYTHON := .venv/bin/python
CARGO = scripts/claim.sh && $$(scripts/setup.sh --cargo)

help: ## list the verbs
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

setup: ## virtual environment with the locked dependencies
	@scripts/setup.sh

build: setup ## the extension, development profile (what the tests run)
	@scripts/build.sh dev

release: setup ## the extension, optimised (what the demo and the benchmarks run)
	@scripts/build.sh release

demo: release ## crawl a simulated web, look at what was found, search it
	@$(PYTHON) scripts/demo.py

test: build ## Rust and Python tests
	@scripts/setup.sh --programs
	$(CARGO) test --workspace --exclude crivello-py --locked
	$(PYTHON) -m pytest

lint: build ## formatting, lints, types
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy

bench: release ## benchmarks beside their peers; the report goes to bench/out
	$(PYTHON) -m bench

docs: setup ## check the documentation and build its site
	@scripts/build.sh "$$(cat .venv/.profile 2>/dev/null || echo dev)"  # whichever is there will do
	@scripts/setup.sh --docs
	$(PYTHON) scripts/check_docs.py
	.venv-docs/bin/python scripts/build_docs.py

clean: ## forget the virtual environment and the build (caches in ~/.cache/crivello stay)
	rm -rf .venv .venv-docs site demo.crivello bench/out
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/crivello/_native*.so
