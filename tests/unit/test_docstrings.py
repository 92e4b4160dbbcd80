"""The examples in docstrings run and give what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import crivello

MODULES = [module.name for module in pkgutil.walk_packages(crivello.__path__, "crivello.")]


def examples(name):
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", ["crivello", *MODULES])
def test_the_examples_of_a_module_are_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for test in examples(name):
        runner = doctest.DocTestRunner()
        told = []
        runner.run(test, out=told.append)
        assert runner.failures == 0, "".join(told)
