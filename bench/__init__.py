"""Benchmarks, one file a question; `python -m bench` runs them all after `make release`."""
