"""Perfetto's timelines, read by a decoder of protobuf's wire format and the published schema: field numbers and types
as in perfetto's protos/perfetto/trace/{trace,trace_packet}.proto, track_event/{track_event,track_descriptor,
process_descriptor,thread_descriptor,counter_descriptor,debug_annotation}.proto and interned_data/interned_data.proto.
Knows nothing of Linkcast's writer: what it reads lies in tests/golden/timelines."""

import pathlib
import struct

import pytest

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "timelines" / "two_ranks.pftrace"

# name: (number, type, repeated); a type that is a key here is a message.
SCHEMA = {
    "Trace": {"packet": (1, "TracePacket", True)},
    "TracePacket": {
        "timestamp": (8, "uint", False), "trusted_packet_sequence_id": (10, "uint", False),
        "track_event": (11, "TrackEvent", False), "interned_data": (12, "InternedData", False),
        "sequence_flags": (13, "uint", False), "track_descriptor": (60, "TrackDescriptor", False)},
    "TrackDescriptor": {
        "uuid": (1, "uint", False), "name": (2, "string", False), "process": (3, "ProcessDescriptor", False),
        "thread": (4, "ThreadDescriptor", False), "parent_uuid": (5, "uint", False),
        "counter": (8, "CounterDescriptor", False)},
    "ProcessDescriptor": {"pid": (1, "uint", False), "process_name": (6, "string", False)},
    "ThreadDescriptor": {"pid": (1, "uint", False), "tid": (2, "uint", False), "thread_name": (5, "string", False)},
    "CounterDescriptor": {"unit": (3, "uint", False), "unit_name": (6, "string", False)},
    "TrackEvent": {
        "category_iids": (3, "uint", True), "debug_annotations": (4, "DebugAnnotation", True), "type": (9, "uint", False),
        "name_iid": (10, "uint", False), "track_uuid": (11, "uint", False), "name": (23, "string", False),
        "counter_value": (30, "uint", False), "double_counter_value": (44, "double", False),
        "flow_ids": (47, "fixed64", True)},
    "DebugAnnotation": {
        "name_iid": (1, "uint", False), "int_value": (4, "uint", False), "double_value": (5, "double", False),
        "string_value": (6, "string", False), "string_value_iid": (17, "uint", False)},
    "InternedData": {
        "event_categories": (1, "Interned", True), "event_names": (2, "Interned", True),
        "debug_annotation_names": (3, "Interned", True), "debug_annotation_string_values": (29, "Interned", True)},
    "Interned": {"iid": (1, "uint", False), "name": (2, "string", False)},
}
WIRE = {"uint": 0, "fixed64": 1, "double": 1, "string": 2}
BEGIN, END, COUNTER = 1, 2, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def decode(kind, data):
    numbers = {number: (name, of, many) for name, (number, of, many) in SCHEMA[kind].items()}
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        assert key >> 3 in numbers, f"{kind} has no field {key >> 3}"
        name, of, many = numbers[key >> 3]
        assert key & 7 == WIRE.get(of, 2), f"{kind}.{name} has the wrong wire type"
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value = struct.unpack("<d" if of == "double" else "<Q", data[at:at + 8])[0]
            at += 8
        else:
            size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
            value = value.decode() if of == "string" else decode(of, value)
        if many:
            out.setdefault(name, []).append(value)
        else:
            assert name not in out
            out[name] = value
    return out


class Timeline:
    """The slices and counters as a viewer would show them."""

    def __init__(self, packets):
        self.tracks, self.slices, self.counters = {}, [], []
        names = {kind: {} for kind in SCHEMA["InternedData"]}
        open_slices = {}
        for index, packet in enumerate(packets):
            assert packet["trusted_packet_sequence_id"] == 1
            if index == 0:
                assert packet["sequence_flags"] == 1  # SEQ_INCREMENTAL_STATE_CLEARED
            for kind, entries in packet.get("interned_data", {}).items():
                for entry in entries:
                    assert entry["iid"] not in names[kind] and entry["iid"] > 0
                    names[kind][entry["iid"]] = entry["name"]
            if descriptor := packet.get("track_descriptor"):
                assert descriptor["uuid"] not in self.tracks
                if parent := descriptor.get("parent_uuid"):
                    assert parent in self.tracks
                self.tracks[descriptor["uuid"]] = descriptor
            if (event := packet.get("track_event")) is None:
                continue
            assert packet["sequence_flags"] == 2  # SEQ_NEEDS_INCREMENTAL_STATE
            track = event["track_uuid"]
            assert track in self.tracks
            stack = open_slices.setdefault(track, [])
            if event["type"] == BEGIN:
                notes = {}
                for a in event.get("debug_annotations", []):
                    value = a.get("int_value", a.get("double_value"))
                    if "string_value_iid" in a:
                        value = names["debug_annotation_string_values"][a["string_value_iid"]]
                    notes[names["debug_annotation_names"][a["name_iid"]]] = value
                stack.append({
                    "track": track, "begin": packet["timestamp"], "name": names["event_names"][event["name_iid"]],
                    "category": names["event_categories"][event["category_iids"][0]], "notes": notes,
                    "flows": event.get("flow_ids", []), "depth": len(stack)})
            elif event["type"] == END:
                slice_ = stack.pop()
                slice_["end"] = packet["timestamp"]
                assert slice_["end"] >= slice_["begin"]
                self.slices.append(slice_)
            else:
                assert event["type"] == COUNTER and "counter" in self.tracks[track]
                self.counters.append((self.tracks[track]["name"], packet["timestamp"], event["double_counter_value"]))
        assert all(not stack for stack in open_slices.values())


@pytest.fixture(scope="module")
def timeline():
    return Timeline(decode("Trace", GOLDEN.read_bytes())["packet"])


def of_rank(timeline, rank):
    process = next(u for u, t in timeline.tracks.items() if t.get("process", {}).get("pid") == rank + 1)
    tracks = {u: t["thread"]["thread_name"] for u, t in timeline.tracks.items()
              if t.get("parent_uuid") == process and "thread" in t}
    return [(tracks[s["track"]], s["name"], s["category"], s["begin"], s["end"])
            for s in timeline.slices if s["track"] in tracks]


def test_every_operation_is_a_slice_of_its_rank_and_stream(timeline):
    assert of_rank(timeline, 0) == [
        ("stream main", "sgemm", "compute", 0, 10_000),
        ("stream comm", "waiting for peers", "waiting", 10_000, 12_000),
        ("stream comm", "all_reduce", "collective", 10_000, 20_000),
        ("stream comm", "send", "message", 20_000, 21_000),
        ("stream comm (2)", "receive", "message", 20_000, 22_500),
    ]
    assert of_rank(timeline, 1) == [
        ("stream main", "sgemm", "compute", 0, 11_000),
        ("stream main", "gap", "gap", 11_000, 12_000),
        ("stream comm", "all_reduce", "collective", 12_000, 20_000),
        ("stream comm", "receive", "message", 20_000, 21_000),
        ("stream comm (2)", "send", "message", 20_000, 22_500),
    ]


def test_threads_of_all_ranks_have_ids_of_their_own(timeline):
    threads = [(t["thread"]["pid"], t["thread"]["tid"]) for t in timeline.tracks.values() if "thread" in t]
    assert len({tid for _, tid in threads}) == len(threads) == 6


def test_a_flow_goes_through_the_ranks_of_one_call(timeline):
    flows = {}
    for s in timeline.slices:
        for f in s["flows"]:
            flows.setdefault(f, []).append(s["name"])
    assert sorted(sorted(names) for names in flows.values()) == [
        ["all_reduce", "all_reduce"], ["receive", "send"], ["receive", "send"]]


def test_notes_say_what_a_call_was(timeline):
    notes = next(s["notes"] for s in timeline.slices if s["name"] == "all_reduce")
    # 1 MiB in 8 us (12 to 20) are 1,048,576 B / 8,000 ns = 131.072 GB/s.
    assert notes == {"communicator": "0", "group": "default_pg", "ranks": "[0, 1]", "bytes": 1_048_576,
                     "algorithm": "NVLS_Tree", "protocol": "Simple", "GB/s": pytest.approx(131.072), "recorded us": 9.0}


def test_the_bandwidth_is_up_while_a_call_runs(timeline):
    assert timeline.counters == 2 * [("default_pg bandwidth", 12_000, pytest.approx(131.072)),
                                     ("default_pg bandwidth", 20_000, 0.0)]
