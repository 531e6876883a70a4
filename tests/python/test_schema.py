"""The JSON Schemas for editors agree with what ships."""

import json
import pathlib

import pytest

jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = sorted(ROOT.glob("configs/*.yaml")) + sorted(ROOT.glob("configs/studies/*.yaml"))


def problems(document):
    schema = json.loads((ROOT / "docs/scenario.schema.json").read_text())
    return [e.message for e in jsonschema.Draft202012Validator(schema).iter_errors(document)]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda p: p.name)
def test_every_scenario_is_valid(path):
    assert problems(yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize("wrong", [
    {"workload": {"collective": {"op": "all_reduce", "size": "1 GiB"}}},  # no topology
    {"topology": "dgx-h100", "variant": {}},
    {"topology": "dgx-h100", "variants": {"nodes": []}},
    {"topology": "dgx-h100", "routing": "fast"},
    {"topology": "dgx-h100", "goals": ["step_time = 2 s"]},
    {"topology": "dgx-h100", "resilience": {"kinds": ["fan"]}},
])
def test_what_is_wrong_is_refused(wrong):
    assert problems(wrong)


def test_every_key_of_planning_is_in_the_schema():
    source = (ROOT / "workloads/src/scenario_file.cpp").read_text()
    body = source[source.index("planning_keys() {"):]
    keys = {w for w in body[:body.index("};")].split('"')[1::2]}
    schema = json.loads((ROOT / "docs/scenario.schema.json").read_text())
    assert keys and keys <= set(schema["properties"])
