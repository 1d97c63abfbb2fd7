#!/usr/bin/env python3
"""The files that a cluster uses beside `gausscope serve`: Kubernetes' objects, Prometheus' configuration and rules, Grafana's
board. Usage: serve_cluster_test.py (Kubernetes | Prometheus). The environment names the programs: GAUSSCOPE, and
GAUSSCOPE_PROMETHEUS (else `prometheus` of the PATH; without one the test says it was skipped)."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import unittest
import urllib.parse

from cli_support import wait_until
from serve_test import Node, get

try:
    import yaml
except ImportError:
    yaml = None

PROMETHEUS = os.environ.get("GAUSSCOPE_PROMETHEUS") or shutil.which("prometheus")
PROMTOOL = PROMETHEUS and (shutil.which("promtool") or shutil.which(os.path.join(os.path.dirname(PROMETHEUS), "promtool")))
ASSETS = os.path.join(os.path.dirname(__file__), "../../assets/serve")


def board_queries():
    """Every query of the Grafana board, its variables filled in as for "All"."""
    with open(os.path.join(ASSETS, "grafana-board.json"), encoding="utf-8") as file:
        board = json.load(file)
    filled = {"$__rate_interval": "20s", **{f"${name}": ".*" for name in ("node", "namespace", "pod", "job", "rank")}}
    for panel in board["panels"]:
        for target in panel["targets"]:
            query = target["expr"]
            for name, value in filled.items():
                query = query.replace(name, value)
            yield panel["title"], query


# Of Kubernetes' API, what the shipped files use: for each kind of object its fields and those that are required ("!"), with the
# kind of object that each holds ("*": a list of them).
SCHEMA = {
    "Namespace": "apiVersion! kind! metadata!:Meta",
    "DaemonSet": "apiVersion! kind! metadata!:Meta spec!:DaemonSetSpec",
    "Job": "apiVersion! kind! metadata!:Meta spec!:JobSpec",
    "Meta": "name namespace labels annotations",
    "DaemonSetSpec": "selector! updateStrategy template!:Template minReadySeconds",
    "JobSpec": "template!:Template completions parallelism completionMode backoffLimit",
    "Template": "metadata:Meta spec!:PodSpec",
    "PodSpec": "containers!*:Container initContainers*:Container volumes*:Volume hostPID restartPolicy runtimeClassName tolerations*:Toleration "
               "securityContext:PodSecurity automountServiceAccountToken nodeSelector priorityClassName serviceAccountName",
    "PodSecurity": "runAsUser runAsGroup fsGroup seccompProfile:Seccomp",
    "Seccomp": "type!",
    "Toleration": "key operator value effect",
    "Container": "name! image! command args env*:Variable ports*:Port livenessProbe:Probe readinessProbe:Probe resources:Resources "
                 "securityContext:Security volumeMounts*:Mount",
    "Variable": "name! value valueFrom:Source",
    "Source": "fieldRef!:FieldRef",
    "FieldRef": "fieldPath!",
    "Port": "name containerPort! protocol",
    "Probe": "httpGet!:HttpGet periodSeconds failureThreshold timeoutSeconds initialDelaySeconds",
    "HttpGet": "path port!",
    "Resources": "limits requests",
    "Security": "allowPrivilegeEscalation readOnlyRootFilesystem capabilities:Capabilities privileged runAsUser",
    "Capabilities": "drop add",
    "Mount": "name! mountPath! readOnly",
    "Volume": "name! hostPath:HostPath secret:Secret emptyDir",
    "HostPath": "path! type",
    "Secret": "secretName! defaultMode",
}
API = {"Namespace": "v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}


@unittest.skipUnless(yaml, "no PyYAML here")
class Kubernetes(unittest.TestCase):
    """The shipped objects are what Kubernetes takes, and the trainer's fits the daemon's. No cluster has run them."""

    def load(self, name):
        with open(os.path.join(ASSETS, name), encoding="utf-8") as file:
            return list(yaml.safe_load_all(file))

    def check(self, kind, thing, where):
        self.assertIsInstance(thing, dict, where)
        fields = {}
        for word in SCHEMA[kind].split():
            name, _, inner = word.partition(":")
            fields[name.rstrip("!*")] = (inner, "*" in name)
            if "!" in name:
                self.assertIn(name.rstrip("!*"), thing, where)
        for name, value in thing.items():
            self.assertIn(name, fields, where)
            inner, is_list = fields[name]
            for i, one in enumerate(value if is_list else [value]):
                if inner:
                    self.check(inner, one, f"{where}.{name}[{i}]")

    def pods(self, name):
        for thing in self.load(name):
            self.check(thing["kind"], thing, name)
            self.assertEqual(thing["apiVersion"], API[thing["kind"]])
            if "spec" in thing:
                yield thing, thing["spec"]["template"]["spec"]

    def test_objects_are_whole(self):
        for name in ("daemonset.yaml", "trainer-pod.yaml"):
            for thing, pod in self.pods(name):
                volumes = {v["name"] for v in pod["volumes"]}
                for volume in pod["volumes"]:
                    self.assertEqual(len(volume), 2, volume)  # its name and one source
                for container in pod["containers"] + pod.get("initContainers", []):
                    self.assertLessEqual({m["name"] for m in container["volumeMounts"]}, volumes)
                    for variable in container.get("env", []):
                        self.assertEqual(len(variable), 2, variable)
                        self.assertIsInstance(variable.get("value", ""), str, variable)
                    ports = {p["name"] for p in container.get("ports", [])}
                    for probe in ("livenessProbe", "readinessProbe"):
                        if probe in container:
                            self.assertIn(container[probe]["httpGet"]["port"], ports)
                if thing["kind"] == "DaemonSet":
                    labels = thing["spec"]["template"]["metadata"]["labels"]
                    self.assertLessEqual(thing["spec"]["selector"]["matchLabels"].items(), labels.items())

    def test_the_trainer_finds_what_the_daemon_hands_out(self):
        (daemonset, daemon), = self.pods("daemonset.yaml")
        (_, trainer), = self.pods("trainer-pod.yaml")
        shared = [v["hostPath"]["path"] for v in daemon["volumes"] if v["name"] == "run"]
        mounts = {m["mountPath"]: m.get("readOnly", False) for m in trainer["containers"][0]["volumeMounts"]}
        self.assertEqual(mounts, {shared[0] + "/lib": True, shared[0] + "/sockets": False})
        self.assertEqual(sorted(mounts), sorted(v["hostPath"]["path"] for v in trainer["volumes"]))
        environment = {v["name"]: v.get("value") or v["valueFrom"]["fieldRef"]["fieldPath"] for v in trainer["containers"][0]["env"]}
        own = {v["name"]: v.get("value") or v["valueFrom"]["fieldRef"]["fieldPath"] for v in daemon["containers"][0]["env"]}
        self.assertEqual(environment["GAUSSCOPE_RUNTIME_DIR"], own["GAUSSCOPE_RUNTIME_DIR"])
        self.assertIn(environment["GAUSSCOPE_RUNTIME_DIR"], mounts)
        copied = daemon["initContainers"][0]["command"][-1]
        for name in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"):
            folder, library = os.path.split(environment[name])
            self.assertIn(f"cd {folder} ", copied)
            self.assertIn(library, copied)
            self.assertIn(folder, mounts)
        self.assertEqual([environment[n] for n in ("POD_NAME", "POD_NAMESPACE", "NODE_NAME")],
                         ["metadata.name", "metadata.namespace", "spec.nodeName"])
        self.assertIn("GAUSSCOPE_JOB", environment)
        self.assertEqual(own["NODE_NAME"], "spec.nodeName")
        self.assertTrue(daemon["hostPID"] and daemon["tolerations"] and daemon["runtimeClassName"])
        self.assertEqual(own["NVIDIA_VISIBLE_DEVICES"], "all")
        for container in daemon["containers"] + daemon["initContainers"]:
            self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
            self.assertEqual(container["securityContext"]["capabilities"]["drop"], ["ALL"])
        # Prometheus looks for that pod's label, port and namespace.
        scrape = self.load("prometheus-kubernetes.yml")[0]["scrape_configs"][0]
        keep = scrape["relabel_configs"][0]["regex"].split(";")
        self.assertEqual(keep, [daemonset["spec"]["template"]["metadata"]["labels"]["app"], daemon["containers"][0]["ports"][0]["name"]])
        self.assertEqual(scrape["kubernetes_sd_configs"][0]["namespaces"]["names"], [daemonset["metadata"]["namespace"]])


class Prometheus(Node):
    @unittest.skipUnless(PROMTOOL, "promtool is not here")
    def test_the_rules_alarm_when_they_should(self):
        for name in ("gausscope.rules.yml", "prometheus.yml", "prometheus-kubernetes.yml"):
            shutil.copy(os.path.join(ASSETS, name), self.folder)
        shutil.copy(os.path.join(os.path.dirname(__file__), "gausscope.rules.test.yml"), self.folder)
        # Debian's Prometheus has no Kubernetes in it: everything but where the targets come from.
        with open(self.path("prometheus-kubernetes.yml"), encoding="utf-8") as file:
            text, found = re.subn(r"kubernetes_sd_configs:\n *- .*", "static_configs: [{targets: [a]}]", file.read())
        self.assertEqual(found, 1)
        with open(self.path("prometheus-kubernetes.yml"), "w", encoding="utf-8") as file:
            file.write(text)
        for command in (["check", "config", "prometheus.yml"], ["check", "config", "prometheus-kubernetes.yml"], ["test", "rules", "gausscope.rules.test.yml"]):
            run = subprocess.run([PROMTOOL, *command], cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_prometheus_scrapes_it(self):
        address = self.serve("--no-rules")
        self.train()
        wait_until("iterations", lambda: self.iterations(address)[0] >= 5)
        # The configuration and the rules as they are shipped, but for where the daemon is and how often it is asked.
        with open(os.path.join(ASSETS, "prometheus.yml"), encoding="utf-8") as file:
            shipped = file.read()
        self.assertIn("127.0.0.1:9465", shipped)
        with open(self.path("prometheus.yml"), "w", encoding="utf-8") as file:
            file.write("global: {evaluation_interval: 1s}\n" + shipped.replace(
                "127.0.0.1:9465", address.removeprefix("http://")).replace("15s", "1s"))
        shutil.copy(os.path.join(ASSETS, "gausscope.rules.yml"), self.folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.start(PROMETHEUS, f"--config.file={self.path('prometheus.yml')}", f"--storage.tsdb.path={self.path('tsdb')}",
                   f"--web.listen-address=127.0.0.1:{port}", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def query(expression):
            try:
                status, body = get(f"http://127.0.0.1:{port}/api/v1/query?query=" + urllib.parse.quote(expression))
            except OSError:
                return []
            return json.loads(body)["data"]["result"] if status == 200 else []

        wait_until("a scrape", lambda: query("up == 1"))
        found = wait_until("iterations", lambda: query("gausscope_iteration_seconds_count > 5"))
        self.assertEqual(found[0]["metric"]["rank"], "5")
        self.assertEqual(found[0]["metric"]["job"], "77")  # not that of the scrape
        # A rate needs two scrapes; a quantile needs buckets that add up.
        rate = wait_until("a rate", lambda: query("rate(gausscope_iteration_seconds_count[20s]) > 0"))
        median = wait_until("a median", lambda: query(
            "histogram_quantile(0.5, rate(gausscope_iteration_seconds_bucket[20s])) > 0"))
        self.assertLess(float(median[0]["value"][1]), 10)
        self.assertGreater(float(rate[0]["value"][1]), 0)
        metadata = json.loads(get(f"http://127.0.0.1:{port}/api/v1/targets/metadata?metric="
                                  "gausscope_iteration_seconds")[1])["data"]
        self.assertEqual(metadata[0]["type"], "histogram")
        self.assertEqual(metadata[0]["unit"], "seconds")

        # Every query of the board is valid, asks for metrics that the daemon exports, and has results without a GPU.
        told = get(address + "/metrics")[1].decode()
        empty = []
        for title, expression in board_queries():
            status, body = get(f"http://127.0.0.1:{port}/api/v1/query?query=" + urllib.parse.quote(expression))
            self.assertEqual(status, 200, (title, expression, body))
            if not json.loads(body)["data"]["result"]:
                empty.append(title)
            for name in re.findall(r"(?:gausscope|process)_[a-z0-9_]+", expression):
                family = re.sub(r"_(total|bucket|sum|count)$", "", name)
                self.assertTrue(f"# TYPE {family} " in told, (title, family))
        without_gpu = {"Stuck", "GPU busy", "Stages on the GPU, per iteration", "Waiting for the GPU, and copies", "Launches"}
        self.assertEqual({t for t in empty if not t.startswith("GPUs: ")} - without_gpu, set())
        # Rules are evaluated without an error, and none of them alarms.
        rules = wait_until("rules", lambda: [r for g in json.loads(get(f"http://127.0.0.1:{port}/api/v1/rules")[1])[
            "data"]["groups"] for r in g["rules"] if r["health"] != "unknown"])
        self.assertEqual([r["name"] for r in rules if r["health"] != "ok"], [])
        wait_until("a recorded series", lambda: query('gausscope:iteration_seconds:median5m{rank="5"} > 0'))
        self.assertEqual(query('ALERTS{alertstate="firing"}'), [])


if __name__ == "__main__":
    if "Prometheus" in sys.argv and not PROMETHEUS:
        print("skipped: there is no prometheus here (tools/get_prometheus fetches one)")
        sys.exit(77)
    unittest.main(verbosity=2)
