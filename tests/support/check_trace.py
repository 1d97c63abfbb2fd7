#!/usr/bin/env python3
"""Checks a Perfetto trace as gausscope writes them: check_trace.py TRACE [--proto DIR]. Prints what is wrong, exit code 1 if anything is.

Decoded with protoc and the perfetto_subset.proto beside this file, then: no unknown fields, a clock snapshot first, tracks declared once
and before use, interned ids resolvable in their sequence, time never going back in a sequence, every slice ended, none ended
that was not begun, no negative lengths (that follows), render stages whose numbers are unique and that launching calls name, and
resolve. On success prints counts as JSON."""
import argparse
import collections
import json
import pathlib
import re
import sys

from proto_text import HERE, decode, every, get, unquote

TABLES = ("event_names", "event_categories", "debug_annotation_names", "graphics_contexts", "gpu_specifications", "compute_kernels", "compute_arg_names")


class Checker:
    def __init__(self):
        self.problems = []
        self.tracks = {}
        self.threads = []
        self.streams = []
        self.stream_uuids = set()
        self.flow_begins = {}
        self.flow_ends = []
        self.processes = 0
        self.labels = []
        self.gpus = 0
        self.kernels = collections.Counter()
        self.stage_ids = set()
        self.submitted = []
        self.tracks_by_kind = collections.Counter()
        self.snapshot = False
        self.sequences = {}
        self.open = collections.defaultdict(list)
        self.slices = collections.Counter()
        self.counters = collections.Counter()
        self.payloads = 0
        self.instants = 0

    def problem(self, number, text):
        self.problems.append(f"packet {number}: {text}")

    def known_fields(self, number, message):
        for name, value in message:
            if re.fullmatch(r"\d+", name):
                self.problem(number, f"unknown field {name}")
            if isinstance(value, list):
                self.known_fields(number, value)

    def packet(self, number, packet):
        self.known_fields(number, packet)
        sequence_id = int(get(packet, "trusted_packet_sequence_id", "0"))
        if sequence_id == 0:
            self.problem(number, "has no sequence id")
        if int(get(packet, "sequence_flags", "0")) & 1:
            self.sequences[sequence_id] = {"time": -1, "defaults": get(packet, "trace_packet_defaults") is not None, **{table: {} for table in TABLES}}
        if snapshot := get(packet, "clock_snapshot"):
            clocks = {int(get(c, "clock_id")): int(get(c, "timestamp")) for c in every(snapshot, "clocks")}
            if not {1, 3} <= clocks.keys():
                self.problem(number, f"clock snapshot without MONOTONIC and REALTIME: {clocks}")
            self.snapshot = True
        if descriptor := get(packet, "track_descriptor"):
            self.descriptor(number, descriptor)
        self.gpus += len(every(get(packet, "gpu_info", []), "gpus"))
        event, stage = get(packet, "track_event"), get(packet, "gpu_render_stage_event")
        if event is None and stage is None:
            return
        sequence = self.in_sequence(number, packet, sequence_id)
        if sequence is not None and event is not None:
            self.event(number, packet, event, sequence)
        if sequence is not None and stage is not None:
            self.render_stage(number, stage, sequence)

    def descriptor(self, number, descriptor):
        uuid = get(descriptor, "uuid")
        if uuid in self.tracks:
            self.problem(number, f"track {uuid} declared twice")
        parent = get(descriptor, "parent_uuid")
        if parent is not None and parent not in self.tracks:
            self.problem(number, f"parent {parent} not declared before")
        name = unquote(get(descriptor, "name", '""'))
        self.tracks[uuid] = name if get(descriptor, "counter") is not None else None
        kind = unquote(get(descriptor, "description", '""'))
        if kind:
            self.tracks_by_kind[kind] += 1
        if kind == "GPU stream":
            self.streams.append(name)
            self.stream_uuids.add(uuid)
            if not name:
                self.problem(number, "stream without a name")
        if thread := get(descriptor, "thread"):
            self.threads.append(unquote(get(thread, "thread_name", '""')))
            if int(get(thread, "tid")) <= 0:
                self.problem(number, "thread without tid")
        if process := get(descriptor, "process"):
            self.processes += 1
            self.labels += [unquote(label) for label in every(process, "process_labels")]

    def in_sequence(self, number, packet, sequence_id):
        """The sequence's state, with what the packet adds to it; None when it was never begun."""
        if not self.snapshot:
            self.problem(number, "event before the clock snapshot")
        sequence = self.sequences.get(sequence_id)
        if sequence is None:
            self.problem(number, f"sequence {sequence_id} was never cleared")
            return None
        if not sequence["defaults"]:
            self.problem(number, "sequence without a default clock")
        for table in TABLES:
            for entry in every(get(packet, "interned_data", []), table):
                sequence[table][get(entry, "iid")] = get(entry, "name") or get(entry, "demangled_name")
        time = int(get(packet, "timestamp", "-1"))
        if time < sequence["time"]:
            self.problem(number, f"time goes back from {sequence['time']} to {time}")
        sequence["time"] = time
        return sequence

    def render_stage(self, number, stage, sequence):
        for field, table in (("hw_queue_iid", "gpu_specifications"), ("stage_iid", "gpu_specifications"), ("context", "graphics_contexts"),
                             ("kernel_iid", "compute_kernels"), ("name_iid", "event_names")):
            iid = get(stage, field)
            if iid is None and field != "kernel_iid" or iid is not None and iid not in sequence[table]:
                self.problem(number, f"{field} does not resolve")
        for argument in every(get(stage, "launch", []), "args"):
            if get(argument, "name_iid") not in sequence["compute_arg_names"]:
                self.problem(number, "launch argument does not resolve")
        if get(stage, "event_id") in self.stage_ids:
            self.problem(number, "render stage numbered as another")
        self.stage_ids.add(get(stage, "event_id"))
        extra = {unquote(get(e, "name")) for e in every(stage, "extra_data")}
        if not {"device", "stream"} <= extra:
            self.problem(number, "render stage without device and stream")
        self.kernels[unquote(sequence["event_names"].get(get(stage, "name_iid"), '"?"'))] += 1

    def event(self, number, packet, event, sequence):
        time = int(get(packet, "timestamp", "-1"))
        uuid = get(event, "track_uuid")
        if uuid not in self.tracks:
            self.problem(number, f"track {uuid} not declared before use")
        kind = get(event, "type")
        if kind in ("TYPE_SLICE_BEGIN", "TYPE_INSTANT"):
            self.named(number, event, sequence)
        self.submitted += [(number, e) for e in every(get(event, "gpu_correlation", []), "render_stage_submission_event_ids")]
        if kind == "TYPE_SLICE_BEGIN":
            self.open[uuid].append(time)
            for flow in every(event, "flow_ids"):
                if uuid in self.stream_uuids:
                    self.flow_ends.append((number, flow, time))
                elif flow in self.flow_begins:
                    self.problem(number, f"flow {flow} begins twice")
                else:
                    self.flow_begins[flow] = time
            self.flow_ends += [(number, flow, time) for flow in every(event, "terminating_flow_ids")]
            self.slices[unquote(sequence["event_names"].get(get(event, "name_iid"), '"?"'))] += 1
        elif kind == "TYPE_SLICE_END":
            if not self.open[uuid]:
                self.problem(number, "ends a slice that was not begun")
            elif self.open[uuid].pop() > time:
                self.problem(number, "slice of negative length")
        elif kind == "TYPE_COUNTER":
            if self.tracks.get(uuid) is None:
                self.problem(number, "counter value on a track that is no counter")
            self.counters[self.tracks.get(uuid)] += 1
        elif kind == "TYPE_INSTANT":
            self.instants += 1
        else:
            self.problem(number, f"event of type {kind}")

    def named(self, number, event, sequence):
        if get(event, "name") is None and get(event, "name_iid") not in sequence["event_names"]:
            self.problem(number, "name iid does not resolve")
        for iid in every(event, "category_iids"):
            if iid not in sequence["event_categories"]:
                self.problem(number, "category iid does not resolve")
        for annotation in every(event, "debug_annotations"):
            self.payloads += 1
            if get(annotation, "name_iid") not in sequence["debug_annotation_names"]:
                self.problem(number, "annotation iid does not resolve")

    def finish(self):
        if not self.snapshot:
            self.problems.append("no clock snapshot")
        for number, flow, time in self.flow_ends:
            if flow not in self.flow_begins:
                self.problem(number, f"flow {flow} begins nowhere")
            elif self.flow_begins[flow] > time:
                self.problem(number, f"flow {flow} runs back in time")
        for number, stage in self.submitted:
            if stage not in self.stage_ids:
                self.problem(number, f"launched render stage {stage}, which is not there")
        for uuid, begins in self.open.items():
            if begins:
                self.problems.append(f"{len(begins)} slices of track {uuid} never end")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--proto", default=HERE)
    arguments = parser.parse_args()
    checker = Checker()
    try:
        packets = decode(pathlib.Path(arguments.trace).read_bytes(), "gausscope.perfetto.Trace", "perfetto_subset.proto", arguments.proto)
    except ValueError as error:
        sys.exit(str(error))
    for number, (name, packet) in enumerate(packets):
        if name != "packet":
            checker.problem(number, f"is a {name}")
            continue
        checker.packet(number, packet)
    checker.finish()
    for problem in checker.problems[:20]:
        print(problem, file=sys.stderr)
    print(json.dumps({"problems": len(checker.problems), "processes": checker.processes, "threads": sorted(checker.threads), "streams": sorted(checker.streams), "flows": len(checker.flow_ends),
                      "kernels": dict(sorted(checker.kernels.items())), "launched": len(checker.submitted), "gpus": checker.gpus, "labels": checker.labels,
                      "tracks": dict(sorted(checker.tracks_by_kind.items())),
                      "slices": dict(sorted(checker.slices.items())), "payloads": checker.payloads, "instants": checker.instants,
                      "counters": dict(sorted(checker.counters.items()))}))
    return 1 if checker.problems else 0


if __name__ == "__main__":
    sys.exit(main())
