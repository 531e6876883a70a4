"""The docstrings are documentation that runs."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import linkcast

MODULES = ["linkcast"] + [f"linkcast.{m.name}" for m in pkgutil.iter_modules(linkcast.__path__) if m.name != "_core"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(module, optionflags=flags)
    assert failed == 0


def test_every_public_name_is_documented_with_its_unit():
    for name in linkcast.__all__:
        if name == "__version__":
            continue
        thing = getattr(linkcast, name)
        assert inspect.getdoc(thing), name


def test_public_functions_have_an_example():
    for name in linkcast.__all__:
        function = getattr(linkcast, name)
        if not inspect.isfunction(function):
            continue
        assert ">>>" in inspect.getdoc(function), function


def test_stub_of_the_compiled_part_names_what_is_there():
    import ast
    import pathlib

    from linkcast import _core

    stub = ast.parse((pathlib.Path(linkcast.__file__).parent / "_core.pyi").read_text())
    named = {n.name for n in stub.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    there = {n for n in dir(_core) if not n.startswith("__")}
    assert named == there
