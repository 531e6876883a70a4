"""The JSON Schemas for editors agree with what ships."""

import json
import pathlib
import re

import pytest

jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = sorted(p for folder in ("", "studies/", "packet/") for p in ROOT.glob(f"configs/{folder}*.yaml"))


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
    {"topology": "dgx-h100", "workload": {"flows": [{"pattern": "incats", "size": "1 MiB"}]}},
    {"topology": "dgx-h100", "workload": {"flows": {"pattern": "incast", "size": 1048576}}},
    {"topology": "dgx-h100", "packet": {"mtu": 4096}},
    {"topology": "dgx-h100", "packet": {"control": {"algorithm": "dcqcn", "base_target": "20 us"}}},
    {"topology": "dgx-h100", "packet": {"buffer": {"alfa": 1}}},
])
def test_what_is_wrong_is_refused(wrong):
    assert problems(wrong)


def test_every_key_of_planning_is_in_the_schema():
    source = (ROOT / "workloads/src/scenario_file.cpp").read_text()
    body = source[source.index("planning_keys() {"):]
    keys = {w for w in body[:body.index("};")].split('"')[1::2]}
    schema = json.loads((ROOT / "docs/scenario.schema.json").read_text())
    assert keys and keys <= set(schema["properties"])


def test_every_packet_setting_is_in_the_schema():
    packet = json.loads((ROOT / "docs/scenario.schema.json").read_text())["properties"]["packet"]
    source = (ROOT / "workloads/src/packet_keys.cpp").read_text()
    calls = r'(?:find|integer|boolean|time|size|flag|choice|factor)\((?:f_?|map_)?(?:, )?"([a-z_]+)"'
    known = set(packet["properties"])
    for key in ("buffer", "transport"):
        known |= set(packet["properties"][key]["properties"])
    for key in ("marking", "host"):
        known |= set(packet["properties"][key]["anyOf"][1]["properties"])
    known |= set(packet["properties"]["lanes"]["items"]["properties"])
    read = set(re.findall(calls, source))
    assert len(read) > 30 and read <= known


def test_every_parameter_of_congestion_control_is_in_the_schema():
    packet = json.loads((ROOT / "docs/scenario.schema.json").read_text())["properties"]["packet"]
    algorithms = packet["properties"]["control"]["anyOf"]
    known = {key for a in algorithms[1:] for key in a["properties"]} - {"algorithm"}
    source = (ROOT / "workloads/src/packet_control_keys.cpp").read_text()
    read = set(re.findall(r'Parameter<[A-Za-z]+>\{"([a-z_0-9]+)"', source)) | {"preset", "dce_tcp_g_reading", "table"}
    assert read == known
    page = (ROOT / "docs/scenario.md").read_text()
    assert all(f"`{key}`" in page for key in read)
