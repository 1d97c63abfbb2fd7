#!/usr/bin/env python3
"""`gausscope serve` as a node runs it: it finds a training process, Prometheus scrapes it, a trace is asked for, the
trainer is killed. Standard Python only; the environment names the program: GAUSSCOPE."""
import grp
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../support"))
from cli_support import GAUSSCOPE, PATIENCE_S, wait_until  # noqa: E402
from proto_text import decode, every, get as field, unquote  # noqa: E402



def get(url, token=None, method="GET"):
    """(status, text) of a request."""
    request = urllib.request.Request(url, method=method, data=b"" if method == "POST" else None)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def samples(text, family):
    """{labels: value} of the samples of that exact name."""
    out = {}
    for line in text.splitlines():
        name, _, rest = line.partition("{")
        if name == family:
            labels, _, value = rest.rpartition("} ")
            out[labels] = float(value)
        elif line.startswith(family + " "):
            out[""] = float(line.split(" ")[1])
    return out


class Collector(http.server.ThreadingHTTPServer):
    """Takes OTLP metrics, but for the first request, which it refuses."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # noqa: N802
            body = self.rfile.read(int(self.headers["Content-Length"]))
            refused = not self.server.requests
            self.server.requests.append((self.path, dict(self.headers), body))
            self.send_response(503 if refused else 200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.requests = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def bodies(self, path):
        return [body for asked, _, body in self.requests if asked == path]

    def metrics(self):
        """{name: metric} of the newest request, and the resource's attributes."""
        told = field(decode(self.bodies("/v1/metrics")[-1], "gausscope.otlp.Request", "otlp_subset.proto"), "resource_metrics")
        metrics = every(field(told, "scope_metrics"), "metrics")
        return {unquote(field(m, "name")): m for m in metrics}, attributes(field(told, "resource"))


def attributes(message):
    return {unquote(field(a, "key")): unquote(field(field(a, "value"), "string_value", '""')) for a in every(message, "attributes")}


class Node(unittest.TestCase):
    """A daemon and a training process that live as long as one test."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gausscope_serve_")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.environment = dict(os.environ, GAUSSCOPE_RUNTIME_DIR=self.path("run"), RANK="5", SLURM_JOB_ID="77")
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write("sesame\n")
        self.capture = self.path("sample")
        self.run_gausscope("sample", self.capture, "--views", "6", "--width", "64", "--height", "48", "--points", "500")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_gausscope(self, *arguments):
        return subprocess.run([GAUSSCOPE, *arguments], env=self.environment, check=True, capture_output=True, text=True)

    def start(self, *command, **options):
        process = subprocess.Popen(command, text=True, **{"env": self.environment, **options})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def serve(self, *options, folder="recordings", **pipes):
        """Starts the daemon; its address."""
        self.daemon = self.start(GAUSSCOPE, "serve", "--listen", "127.0.0.1:0", "--dir", self.path(folder),
                                 "--token-file", self.path("token"), *options, stdout=subprocess.PIPE, **pipes)
        self.addCleanup(self.daemon.stdout.close)
        line = self.daemon.stdout.readline()
        port = line.rsplit("(port ", 1)[1].split(")")[0]
        return f"http://127.0.0.1:{port}"

    def train(self, name="", prefix=()):
        return self.start(*prefix, GAUSSCOPE, "train", self.capture, "-o", self.path("out" + name), "--steps", "1000000", "--threads", "1",
                          "--save-every", "0", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def rank(self, number, of, place):
        """A foreign program that iterates. Its first input line makes it stay in `place`, the second continue, the third end."""
        process = self.nvtx_program("hangs", place, RANK=str(number), WORLD_SIZE=str(of))
        process.tell = lambda: (process.stdin.write("\n"), process.stdin.flush())
        return process

    def nvtx_program(self, *arguments, **environment):
        injected = dict(self.environment, NVTX_INJECTION64_PATH=os.environ["GAUSSCOPE_INJECT_LIBRARY"], **environment)
        process = self.start(os.environ["GAUSSCOPE_NVTX_PROGRAM"], *arguments, stdin=subprocess.PIPE, env=injected)
        self.addCleanup(process.stdin.close)
        return process

    def iterations(self, address):
        found = samples(get(address + "/metrics")[1].decode(), "gausscope_iteration_seconds_count")
        return sum(found.values()), found

    def recordings(self):
        folder = self.path("recordings")
        return sorted(name for name in os.listdir(folder) if name.endswith(".pftrace"))


class Daemon(Node):
    def test_the_first_range_of_a_program_that_starts_is_seen(self):
        address = self.serve()
        for number in range(5):
            self.nvtx_program("everything", RANK=str(number))  # its first call is its only iteration
        wait_until("one of each", lambda: sorted(self.iterations(address)[1].values()) == [1] * 5)

    def test_it_watches_a_trainer_until_it_is_killed(self):
        address = self.serve("--no-rules", "--slow-step", "0", "--before", "5", "--after", "0.5", "--history", self.path("history.db"),
                             "--on-recording", f'echo "$1" > {self.path("said")}')
        self.assertEqual(get(address + "/healthz")[0], 200)
        trainer = self.train()
        wait_until("iterations", lambda: self.iterations(address)[0] >= 20)
        count, labels = self.iterations(address)
        time.sleep(2)
        self.assertGreater(self.iterations(address)[0], count)
        text = next(iter(labels))
        self.assertNotIn("pid=", text)
        self.assertIn(f'pid="{trainer.pid}"', get(address + "/metrics")[1].decode())
        self.assertIn('rank="5"', text)
        self.assertIn('job="77"', text)
        metrics = get(address + "/metrics")[1].decode()
        self.assertTrue(any('stage="blend",side="cpu"' in labels
                            for labels in samples(metrics, "gausscope_stage_seconds_count")))
        # No GPU here or none used: then there are no GPU figures, rather than zeros.
        if not samples(metrics, "gausscope_kernels_total"):
            self.assertEqual(samples(metrics, "gausscope_gpu_idle_ratio"), {})
        self.assertEqual(samples(metrics, "gausscope_producers")[""], 1)

        # A trace of what was, and only for who has the token.
        self.assertEqual(get(address + "/trace?last=2000", None, "POST")[0], 401)
        status, body = get(address + "/trace?last=2000", "sesame", "POST")
        self.assertEqual(status, 202, body)
        name = json.loads(body)["trace"]
        wait_until("the recording", lambda: name in self.recordings() and os.path.exists(
            self.path("recordings/" + name.replace(".pftrace", ".json"))))
        # What it holds is not for everybody to read.
        for path in ("recordings/" + name, "recordings/" + name.replace(".pftrace", ".json"), "history.db"):
            self.assertEqual(os.stat(self.path(path)).st_mode & 0o777, 0o640, path)
        self.assertEqual(os.stat(self.path("recordings")).st_mode & 0o777, 0o750)
        wait_until("the command for recordings", lambda: os.path.exists(self.path("said")))
        with open(self.path("said"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.path("recordings/" + name) + "\n")
        status, content = get(address + "/traces/" + name, "sesame")
        self.assertEqual(status, 200)
        with open(self.path("fetched.pftrace"), "wb") as file:
            file.write(content)
        read = json.loads(self.run_gausscope("trace", self.path("fetched.pftrace"), "--json").stdout.splitlines()[-1])
        self.assertGreater(read["spans"], 20)
        self.assertLess((read["end_ns"] - read["begin_ns"]) * 1e-9, 4)

        trainer.send_signal(signal.SIGKILL)
        wait_until("the crash recording", lambda: [n for n in self.recordings() if "-crash" in n])
        wait_until("its end in the metrics", lambda: samples(get(address + "/metrics")[1].decode(),
                                                             "gausscope_producers")[""] == 0)
        self.daemon.send_signal(signal.SIGTERM)
        self.assertEqual(self.daemon.wait(timeout=PATIENCE_S), 0)

    def test_a_trainer_that_ends_in_order_is_no_crash(self):
        address = self.serve("--no-rules", "--slow-step", "0")
        trainer = self.train()
        wait_until("iterations", lambda: self.iterations(address)[0] >= 5)
        trainer.send_signal(signal.SIGINT)  # saves and ends
        trainer.wait(timeout=PATIENCE_S)
        wait_until("its end", lambda: samples(get(address + "/metrics")[1].decode(), "gausscope_producers")[""] == 0)
        time.sleep(4)  # longer than the silence that counts as a crash
        self.assertEqual(self.recordings(), [])

    def test_ranks_that_no_longer_get_on_are_named_with_where_they_are(self):
        address = self.serve("--no-rules", "--slow-step", "0", "--stall-after", "1", "--cooldown", "0")
        ranks = [self.rank(0, 3, "all_reduce"), self.rank(1, 3, "next_batch")]

        def stalled():
            found = samples(get(address + "/metrics")[1].decode(), "gausscope_stalled_seconds")
            return {labels.split('rank="')[1][0]: labels.split('range="')[1].split('"')[0] for labels in found}

        wait_until("iterations of both", lambda: len(
            [n for n in self.iterations(address)[1].values() if n >= 5]) == 2)
        for rank in ranks:
            rank.tell()
        wait_until("both", lambda: stalled() == {"0": "all_reduce", "1": "next_batch"})
        sentence = "job 77: rank 0 is in all_reduce, 1 in next_batch; 2 not seen here"
        told = json.loads(self.run_gausscope("attach", "--stall-after", "0.1", "--json").stdout.splitlines()[-1])
        self.assertEqual(told["stalls"], [sentence])
        self.assertEqual(sorted(p["inside"] for p in told["processes"]), ["iteration > all_reduce", "iteration > next_batch"])
        name = wait_until("a recording", lambda: [n for n in self.recordings() if "-stall" in n])[0]
        report = self.path("recordings/" + name.replace(".pftrace", ".json"))
        wait_until("its report", lambda: os.path.exists(report))
        with open(report, encoding="utf-8") as file:
            self.assertIn("job 77: rank", json.load(file)["reason"])
        for rank in ranks:
            rank.tell()
        wait_until("that they get on", lambda: stalled() == {})
        ranks[0].tell()  # one that has ended is not stuck, one that is stopped is
        self.assertEqual(ranks[0].wait(timeout=PATIENCE_S), 0)
        ranks[1].send_signal(signal.SIGSTOP)
        wait_until("the stopped one", lambda: list(stalled()) == ["1"])
        ranks[1].send_signal(signal.SIGCONT)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root, and setpriv")
    def test_a_group_may_read_what_others_may_not(self):
        os.chmod(self.folder, 0o755)
        with open(self.path("history.db"), "w", encoding="utf-8"):
            os.chmod(self.path("history.db"), 0o600)  # of an earlier day
        self.serve("--no-rules", "--group", "users", "--history", self.path("history.db"))
        users = grp.getgrnam("users").gr_gid
        reads = {gid: subprocess.run(["setpriv", "--reuid", "65534", "--regid", str(gid), "--clear-groups", "ls", self.path("recordings")],
                                     capture_output=True, check=False).returncode == 0 for gid in (users, 65534)}
        self.assertEqual(reads, {users: True, 65534: False})
        for end in ("", "-wal", "-shm"):
            status = os.stat(self.path("history.db" + end))
            self.assertEqual((status.st_gid, status.st_mode & 0o777), (users, 0o640), end)
        refused = subprocess.run([GAUSSCOPE, "serve", "--group", "no such group"], env=self.environment, capture_output=True, text=True,
                                 check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("not a group", refused.stderr)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root, and setpriv")
    def test_roots_daemon_watches_every_user_who_shares_the_directory(self):
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        program, library = os.environ["GAUSSCOPE_NVTX_PROGRAM"], os.environ["GAUSSCOPE_INJECT_LIBRARY"]
        if subprocess.run([*nobody, "test", "-x", program, "-a", "-r", library], check=False).returncode:
            self.skipTest("another user cannot read the programs here")
        os.chmod(self.folder, 0o755)

        def iterate(*command):
            self.environment["NVTX_INJECTION64_PATH"] = library
            process = self.start(*command, stdin=subprocess.PIPE)
            self.addCleanup(process.stdin.close)
            del self.environment["NVTX_INJECTION64_PATH"]

        # One of root's has been there since before the directory was everybody's.
        iterate(program, "hangs", "a")
        wait_until("its socket", lambda: os.path.isdir(self.path("run")) and
                   [n for n in os.listdir(self.path("run")) if n.endswith(".sock")])
        address = self.serve("--no-rules", "--slow-step", "0", "--all-users")
        iterate(program, "hangs", "b")
        iterate(*nobody, program, "hangs", "c")
        wait_until("all", lambda: sum(n >= 5 for n in self.iterations(address)[1].values()) == 3)
        folder = self.path("run/65534")
        self.assertEqual((os.stat(folder).st_uid, os.stat(folder).st_mode & 0o777), (65534, 0o700))
        # After the daemon has ended, clients also find root's processes.
        self.daemon.send_signal(signal.SIGINT)
        self.daemon.wait(PATIENCE_S)
        time.sleep(1.5)  # a look of theirs at where their sockets are
        told = json.loads(self.run_gausscope("attach", "--json").stdout.splitlines()[-1])
        self.assertEqual(len(told["processes"]), 3)
        # The user himself sees what is his, and no more.
        told = subprocess.run([*nobody, GAUSSCOPE, "attach", "--json"], env=self.environment, capture_output=True, text=True,
                              check=True).stdout.splitlines()[-1]
        self.assertEqual(len(json.loads(told)["processes"]), 1)
        refused = subprocess.run([*nobody, GAUSSCOPE, "serve", "--all-users"], env=self.environment, capture_output=True,
                                 text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("only root", refused.stderr)

    def test_two_daemons_may_watch_one_trainer(self):
        first = self.serve("--no-rules", "--slow-step", "0")
        second = self.serve("--no-rules", "--slow-step", "0")
        self.train()
        for address in (first, second):
            wait_until("iterations", lambda: self.iterations(address)[0] >= 5)

    @unittest.skipIf(os.environ.get("GAUSSCOPE_SANITIZED"), "a sanitizer holds freed memory back")
    def test_memory_stays_flat_under_load(self):
        address = self.serve("--no-rules", "--slow-step", "0", "--memory", "1")
        self.train()
        wait_until("iterations", lambda: self.iterations(address)[0] >= 5)

        def figures():
            text = get(address + "/metrics")[1].decode()
            return (samples(text, "process_resident_memory_bytes")[""],
                    sum(samples(text, "gausscope_records_total").values()))

        # The store is full once it has seen as many records as fit; then nothing may grow.
        wait_until("a full store", lambda: figures()[1] > 15_000)
        full, records = figures()
        wait_until("twice as much", lambda: figures()[1] > records + 15_000)
        self.assertLess(figures()[0], full * 1.15 + 4e6)

    def test_metrics_are_pushed_to_a_collector(self):
        collector = Collector()
        self.addCleanup(collector.server_close)
        self.addCleanup(collector.shutdown)
        self.environment.update(OTEL_EXPORTER_OTLP_HEADERS="x-key=open%20sesame, x-none=", OTEL_RESOURCE_ATTRIBUTES="rack=4")
        address = self.serve("--no-rules", "--slow-step", "0", "--otlp", f"http://127.0.0.1:{collector.server_port}",
                             "--otlp-interval", "0.1")
        self.train()

        def iterations():
            if len(collector.requests) < 2:
                return None
            histogram = collector.metrics()[0].get("gausscope_iteration_seconds")
            point = histogram and field(field(histogram, "histogram"), "data_points")
            return point if point and int(field(point, "count")) >= 5 else None

        point = wait_until("iterations", iterations)
        path, headers, _ = collector.requests[0]
        self.assertEqual((path, headers["Content-Type"], headers["x-key"]), ("/v1/metrics", "application/x-protobuf", "open sesame"))
        metrics, resource = collector.metrics()
        self.assertEqual(resource, {"rack": "4", "service.name": "gausscope", "host.name": socket.gethostname()})
        self.assertEqual({attributes(point)[k] for k in ("rank", "job", "gausscope.job")}, {"5", "77"})
        counts = [int(c) for c in every(point, "bucket_counts")]
        self.assertEqual((sum(counts), len(counts)), (int(field(point, "count")), len(every(point, "explicit_bounds")) + 1))
        self.assertGreater(float(field(point, "sum")), 0)
        age = int(field(point, "time_unix_nano")) - int(field(point, "start_time_unix_nano"))
        self.assertTrue(0 < age < 1e9 * PATIENCE_S, age)
        self.assertEqual(field(metrics["gausscope_iteration_seconds"], "unit"), '"s"')
        asked = field(metrics["gausscope_otlp_requests"], "sum")
        self.assertEqual((field(asked, "aggregation_temporality"), field(asked, "is_monotonic")), ("2", "true"))
        wait_until("what became of requests", lambda: samples(
            get(address + "/metrics")[1].decode(), "gausscope_otlp_requests_total").get('signal="metrics",result="accepted"', 0) > 0)
        # Nothing is pushed that a scrape would not find.
        told = re.findall(r"^# TYPE (\S+) (\S+)", get(address + "/metrics")[1].decode(), re.M)
        pushed = set(collector.metrics()[0])
        self.assertLessEqual({name for name in pushed if not name.startswith("hw.")}, {name + ("_info" if kind == "info" else "") for name, kind in told})
        self.assertGreater(len(pushed), 15)
        self.assertEqual(headers["x-none"], "")

    def test_call_stacks_are_pulled_and_pushed(self):
        collector = Collector()
        self.addCleanup(collector.server_close)
        self.addCleanup(collector.shutdown)
        address = self.serve("--no-rules", "--slow-step", "0", "--otlp", f"http://127.0.0.1:{collector.server_port}",
                             "--otlp-interval", "1", "--stacks=199", stderr=subprocess.PIPE)
        # In a container its numbers are others, and it is one process all the same.
        self.environment["SLURM_JOB_NAME"] = "a model"
        container = ["unshare", "--pid", "--kill-child", "--mount-proc"]
        allowed = subprocess.run([*container, "true"], stderr=subprocess.DEVNULL).returncode == 0
        self.train(prefix=container if allowed else [])
        profile = address + "/debug/pprof/profile?seconds=5"
        self.assertEqual(get(profile)[0], 401)
        self.assertEqual(get(address + "/debug/pprof/profile?seconds=x", "sesame")[0], 400)
        self.assertEqual(get(profile, "sesame", "POST")[0], 405)
        wait_until("call stacks", lambda: get(profile, "sesame")[0] == 200 or collector.bodies("/v1development/profiles"))
        wait_until("profiles", lambda: collector.bodies("/v1development/profiles"))
        pprof = decode(gzip.decompress(get(profile, "sesame")[1]), "gausscope.profiles.Pprof", "profiles_subset.proto")
        texts = [unquote(text) for text in every(pprof, "string_table")]
        self.assertEqual([texts[int(field(t, "type_strindex"))] for t in every(pprof, "sample_type")], ["samples", "cpu", "blocked"])
        self.assertGreater(sum(int(every(sample, "value")[1]) for sample in every(pprof, "sample")), 0)
        self.assertEqual(field(pprof, "duration_nanos"), "5000000000")

        request = decode(collector.bodies("/v1development/profiles")[-1], "gausscope.profiles.Request", "profiles_subset.proto")
        tables = field(request, "dictionary")
        texts = [unquote(text) for text in every(tables, "string_table")]
        stacks, locations, functions = (every(tables, f"{name}_table") for name in ("stack", "location", "function"))
        for table in ("mapping", "location", "function", "link", "attribute", "stack"):
            self.assertEqual(every(tables, f"{table}_table")[0], [])  # what stands for none
        self.assertEqual(texts[0], "")
        (told,) = every(request, "resource_profiles")
        resource = attributes(field(told, "resource"))
        self.assertEqual({resource[key] for key in ("rank", "job", "service.name")}, {"5", "77", "a model"})
        seen = set()
        for of in every(field(told, "scope_profiles"), "profiles"):
            kind = field(of, "sample_type")
            self.assertEqual(texts[int(field(kind, "unit_strindex"))], "nanoseconds")
            self.assertIn(texts[int(field(kind, "type_strindex"))], ("cpu", "off_cpu"))
            for sample in every(of, "samples"):
                self.assertGreater(int(field(sample, "values")), 0)
                for place in every(stacks[int(field(sample, "stack_index"))], "location_indices"):
                    line = field(locations[int(place)], "lines")
                    seen.add(texts[int(field(functions[int(field(line, "function_index"))], "name_strindex", 0))])
        self.assertTrue(any("gs::" in name for name in seen) or "" in seen, seen)  # without libdw they have no names

    def test_a_trigger_brings_one_trace_of_several_nodes(self):
        addresses = []
        for node in ("a", "b"):
            self.environment["GAUSSCOPE_RUNTIME_DIR"] = self.path("run" + node)
            addresses.append(self.serve("--no-rules", "--slow-step", "0", folder=node).split("//")[1])
            self.train(node)
        for address in addresses:
            wait_until("iterations", lambda: self.iterations("http://" + address)[0] >= 5)
        trigger = [GAUSSCOPE, "trigger", ",".join(addresses), "--seconds", "1", "--token-file", self.path("token"), "--json",
                   "-o", self.path("all.pftrace")]
        told = subprocess.run(trigger, env=self.environment, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertEqual([n["error"] for n in json.loads(told.stdout.splitlines()[-1])["nodes"]], ["", ""])
        read = json.loads(self.run_gausscope("trace", self.path("all.pftrace"), "--json").stdout.splitlines()[-1])
        self.assertEqual(len([p for p in read["processes"] if "gausscope" in p["name"]]), 2)
        self.assertLess((read["end_ns"] - read["begin_ns"]) * 1e-9, 3)
        self.assertEqual([n for n in os.listdir(self.folder) if "trigger" in n], [])
        self.assertEqual(os.stat(self.path("all.pftrace")).st_mode & 0o777, 0o600)
        # A node that does not answer, or not as a daemon does, costs its part.
        class Odd(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802
                self.send_response(202)
                self.end_headers()
                self.wfile.write(b'{"trace": 5, "error": "\\u001b[2Jgone"}')

            def log_message(self, *arguments):
                pass

        odd = http.server.HTTPServer(("127.0.0.1", 0), Odd)
        self.addCleanup(odd.server_close)
        self.addCleanup(odd.shutdown)
        threading.Thread(target=odd.serve_forever, daemon=True).start()
        trigger[2] = f"127.0.0.1:{odd.server_port}"
        told = subprocess.run(trigger, env=self.environment, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(told.returncode, 2, told.stdout + told.stderr)
        self.assertIn("answers 202: ?[2Jgone", told.stderr)
        self.assertEqual([n for n in os.listdir(self.folder) if "trigger" in n], [])
        # Slurm lists a node once for each part of a job that it has; no proxy gets the token.
        os.mkdir(self.path("bin"))
        with open(self.path("bin/squeue"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nprintf '\\n%s\\n%s\\n%s\\n' " + " ".join([addresses[0], *addresses]) + "\n")
        os.chmod(self.path("bin/squeue"), 0o755)
        self.environment.update(PATH=self.path("bin") + ":" + os.environ["PATH"], http_proxy=f"http://127.0.0.1:{odd.server_port}")
        trigger[2:3] = ["--slurm", "4711"]
        told = subprocess.run([*trigger, "--last", "1"], env=self.environment, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertIn("2 of 2 nodes", told.stdout)
        trigger[2:4] = [",".join([*addresses, "127.0.0.[1-2]:1"])]
        told = subprocess.run([*trigger, "--last", "2"], env=self.environment, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(told.returncode, 1, told.stdout + told.stderr)
        self.assertIn("127.0.0.2:1: ", told.stderr)
        self.assertIn("2 of 4 nodes", told.stdout)
        self.assertEqual(self.run_trigger_badly("gpu[x]"), 2)

    def run_trigger_badly(self, hosts):
        return subprocess.run([GAUSSCOPE, "trigger", hosts], env=self.environment, check=False, capture_output=True).returncode

    def test_the_last_figures_are_pushed_when_the_daemon_ends(self):
        collector = Collector()
        self.addCleanup(collector.server_close)
        self.addCleanup(collector.shutdown)
        self.serve("--no-rules", "--otlp", f"http://me:secret@127.0.0.1:{collector.server_port}", "--otlp-interval", "3600",
                   stderr=subprocess.PIPE)
        self.addCleanup(self.daemon.stderr.close)
        wait_until("the first request", lambda: collector.requests)
        self.daemon.send_signal(signal.SIGINT)
        said = self.daemon.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(len(collector.requests), 2)
        self.assertIn("gausscope_producers", collector.metrics()[0])
        self.assertIn(f"do not reach http://127.0.0.1:{collector.server_port}/v1/metrics", said)
        self.assertNotIn("secret", said)

    def test_an_address_that_cannot_be_pushed_to_is_said(self):
        run = subprocess.run([GAUSSCOPE, "serve", "--listen", "127.0.0.1:0", "--dir", self.path("r"), "--otlp", "ftp://x"],
                             env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("neither http nor https", run.stderr)

    def test_a_taken_port_is_said(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            run = subprocess.run([GAUSSCOPE, "serve", "--listen", f"127.0.0.1:{port}", "--dir", self.path("r")],
                                 env=self.environment, capture_output=True, text=True, check=False)
        self.assertIn(run.returncode, (1, 2))
        self.assertIn("cannot listen", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
