#!/usr/bin/env python3
"""What a daemon costs that watches programs of ranges alone: processor time, user and system together, of a core, against
an idle one beside it. The same after an hour as after a minute is the aim, so it prints a line a minute. The variables are
GAUSSCOPE, GAUSSCOPE_INJECT_LIBRARY and GAUSSCOPE_NVTX_PROGRAM.

    daemon_bench.py [--minutes 15] [--processes 20] [--steps 45] [--ranges 8] [-- OPTIONS OF serve]
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")
SCRAPE_S = 15  # as Prometheus does


class Daemon:
    def __init__(self, folder, name, options):
        self.environment = dict(os.environ, GAUSSCOPE_RUNTIME_DIR=os.path.join(folder, name))
        self.process = subprocess.Popen(
            [os.environ["GAUSSCOPE"], "serve", "--listen", "127.0.0.1:0", "--dir", os.path.join(folder, name + "-recordings"),
             *options], env=self.environment, text=True, stdout=subprocess.PIPE)
        self.address = "http://127.0.0.1:" + self.process.stdout.readline().rsplit("(port ", 1)[1].split(")")[0]

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as stat:
            return sum(int(ticks) for ticks in stat.read().rsplit(") ", 1)[1].split()[11:13]) / TICKS

    def scrape(self):
        with urllib.request.urlopen(self.address + "/metrics", timeout=20) as answer:
            return answer.read().decode()

    def health(self):
        """The status of /healthz, as an orchestrator's probe sees it."""
        try:
            return urllib.request.urlopen(self.address + "/healthz", timeout=20).status
        except urllib.error.HTTPError as error:
            return error.code

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024


def total(text, family):
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(family))


def minute(daemons, seconds=60):
    """Scrapes them for so long: CPU seconds a second of each, records a second of the first."""
    began, before = time.monotonic(), [d.cpu_s() for d in daemons]
    records = total(daemons[0].scrape(), "gausscope_records_total")
    while time.monotonic() < began + seconds:
        time.sleep(max(0, min(SCRAPE_S, began + seconds - time.monotonic())))
        text = [d.scrape() for d in daemons][0]
    passed = time.monotonic() - began
    return ([(d.cpu_s() - c) / passed for d, c in zip(daemons, before)],
            (total(text, "gausscope_records_total") - records) / passed, total(text, "gausscope_lost_records_total"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=15)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--steps", type=float, default=45, help="of each process, a second")
    parser.add_argument("--ranges", type=int, default=8, help="in a step, its own included")
    parser.add_argument("options", nargs="*")
    a = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder, running = tempfile.mkdtemp(prefix="gausscope_daemon_"), []
    try:
        daemons = [Daemon(folder, name, a.options) for name in ("busy", "idle")]
        running += [d.process for d in daemons]
        for rank in range(a.processes):
            running.append(subprocess.Popen(
                [os.environ["GAUSSCOPE_NVTX_PROGRAM"], "iterations", str(a.ranges - 1), str(a.steps)], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, env=dict(daemons[0].environment, RANK=str(rank),
                                                    NVTX_INJECTION64_PATH=os.environ["GAUSSCOPE_INJECT_LIBRARY"])))
        time.sleep(10)
        for number in range(a.minutes):
            (busy, idle), records, lost = minute(daemons)
            print(f"minute {number + 1:3d}: {100 * busy:5.2f} % of a core, idle {100 * idle:.2f} %; {records:.0f} ranges/s, "
                  f"{lost:.0f} lost, {daemons[0].resident_mib():.0f} MiB, health {daemons[0].health()}; load {os.getloadavg()[0]:.1f}", flush=True)
    finally:
        for process in running:
            process.kill()
            process.wait()
        shutil.rmtree(folder, True)


if __name__ == "__main__":
    main()
