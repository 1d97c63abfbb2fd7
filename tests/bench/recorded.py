"""Jobs under `gausscope record` and what their insights say, for benches of what the service finds. The variable is GAUSSCOPE."""
import json
import os
import subprocess

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"]


def environment(folder, job):
    """Of a job that is recorded in the runtime directory `folder`/run."""
    return dict(os.environ, GAUSSCOPE_RUNTIME_DIR=str(folder / "run"), GAUSSCOPE_JOB=job, OMP_NUM_THREADS="1")


def insights_of(folder, job, command, options=()):
    """Records `command` into `folder`/t.pftrace; the insights, as in `trace --insights --json`."""
    trace, around = folder / "t.pftrace", environment(folder, job)
    subprocess.run([os.environ["GAUSSCOPE"], "record", *options, "-o", trace, "--", *command], env=around, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    printed = subprocess.run([os.environ["GAUSSCOPE"], "trace", trace, "--insights", "--json"], env=around, check=True,
                             capture_output=True, text=True).stdout
    return json.loads(printed.splitlines()[-1])["insights"]
