"""How tools/gpu_check runs commands: each with a time limit, a log and a line in its stage's result, which is on the disk
before the next one begins. What ends a stage loses that command; what hangs is named."""
import concurrent.futures
import contextlib
import dataclasses
import datetime
import hashlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import time

PASSED, FAILED, ABSENT = "passed", "failed", "absent"
TAIL = 15  # lines of a log that a failure shows


@dataclasses.dataclass
class Done:
    """A command that ended, or was ended."""
    name: str
    code: int | None      # null: it ran into its limit
    seconds: float
    text: str             # what it wrote to stdout
    log: pathlib.Path     # stdout and stderr

    @property
    def passed(self) -> bool:
        return self.code == 0

    def json(self) -> dict:
        """The last line, where --json left its object; empty where there is none."""
        for line in reversed(self.text.splitlines()):
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    return found
        return {}

    def tail(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-TAIL:])


@dataclasses.dataclass
class Options:
    program: pathlib.Path
    out: pathlib.Path
    data: pathlib.Path | None = None
    rehearse: bool = False
    mock_cuda: pathlib.Path | None = None   # a folder of made-up CUDA libraries, for rehearsals
    processes: int = 8


def write_json(path: pathlib.Path, value: object) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value, indent=1), encoding="utf-8")
    part.replace(path)


def stamp() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def identity_of(program: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with program.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:16]


class Stage:
    """One stage while it runs: its folder, its commands and its findings, as a JSON object on the disk."""

    def __init__(self, options: Options, name: str, minutes: float):
        self.options, self.name = options, name
        self.folder = options.out / name
        self.folder.mkdir(parents=True, exist_ok=True)
        # The limits are a GPU's; a rehearsal may share its machine with much else.
        self.slack = 4 if options.rehearse else 1
        self.until = time.monotonic() + minutes * 60 * self.slack
        self.result = {"stage": name, "status": None, "begun": stamp(), "seconds": None, "under_way": None,
                       "program": identity_of(options.program), "findings": [], "notes": [], "commands": [], "data": {}}
        self._begun = time.monotonic()
        self.save()

    @property
    def file(self) -> pathlib.Path:
        return self.options.out / f"{self.name}.json"

    @property
    def data(self) -> dict:
        return self.result["data"]

    @property
    def small(self) -> bool:
        return self.options.rehearse

    def save(self) -> None:
        write_json(self.file, self.result)

    def find(self, text: str) -> None:
        """A fault: the stage fails."""
        self.result["findings"].append(text)
        self.save()

    def note(self, text: str) -> None:
        """What a reader of the result must know, and is no fault."""
        self.result["notes"].append(text)
        self.save()

    def left(self) -> float:
        return self.until - time.monotonic()

    def end(self) -> dict:
        ran = any(c["code"] == 0 for c in self.result["commands"])
        self.result["status"] = FAILED if self.result["findings"] else PASSED if ran else ABSENT
        self.result["under_way"] = None
        self.result["seconds"] = round(time.monotonic() - self._begun, 1)
        self.save()
        return self.result

    def gausscope(self, name: str, *words: object, limit: float, backend: str = "cuda", good: tuple[int, ...] = (0,),
                  under: tuple[str, ...] = (), env: dict | None = None) -> Done:
        """The program on a backend; a bad exit code is a finding. `under`: a tool that starts it."""
        return self.run(name, *under, self.options.program, *words, "--backend", backend, limit=limit, good=good, env=env)

    def run(self, name: str, *words: object, limit: float, good: tuple[int, ...] | None = (0,), env: dict | None = None) -> Done:
        """`good`: exit codes that are no finding; none: all. No command runs beyond its stage's time."""
        command = [str(w) for w in words]
        limit = min(limit * self.slack, max(self.left(), 0))
        self.result["under_way"] = {"name": name, "command": shlex.join(command), "since": stamp(), "limit": limit}
        self.save()
        log = self.folder / f"{name}.log"
        if limit < 1:
            self.note(f"{name}: not run, the stage's time was up")
            log.write_text("not run\n", encoding="utf-8")
            return Done(name, None, 0, "", log)
        done = run_command(name, command, limit, log, env)
        row = {"name": name, "command": shlex.join(command), "code": done.code, "seconds": round(done.seconds, 2),
               "log": str(log.relative_to(self.options.out))}
        self.result["commands"].append(row)
        self.result["under_way"] = None
        if done.code is None:
            self.find(f"{name}: no end after {limit:.0f} s, stopped: {shlex.join(command)}\n{done.tail()}")
        elif good is not None and done.code not in good:
            self.find(f"{name}: exit code {done.code}: {shlex.join(command)}\n{done.tail()}")
        self.save()
        return done

    def together(self, jobs: list[tuple[str, list[object]]], limit: float, good: tuple[int, ...] = (0,)) -> list[Done]:
        """Several commands at once, as many as there are processes."""
        limit = min(limit * self.slack, max(self.left(), 1))
        names = ", ".join(name for name, _ in jobs)
        self.result["under_way"] = {"name": names, "since": stamp(), "limit": limit}
        self.save()
        until = time.monotonic() + limit

        def one(job: tuple[str, list[object]]) -> Done:
            name, words = job
            return run_command(name, [str(w) for w in words], max(until - time.monotonic(), 1), self.folder / f"{name}.log", None)
        with concurrent.futures.ThreadPoolExecutor(self.options.processes) as pool:
            found = list(pool.map(one, jobs))
        for (_, words), done in zip(jobs, found):
            command = shlex.join(str(w) for w in words)
            self.result["commands"].append({"name": done.name, "command": command, "code": done.code,
                                            "seconds": round(done.seconds, 2),
                                            "log": str(done.log.relative_to(self.options.out))})
            if done.code is None:
                self.find(f"{done.name}: no end within {limit:.0f} s, stopped: {command}\n{done.tail()}")
            elif done.code not in good:
                self.find(f"{done.name}: exit code {done.code}: {command}\n{done.tail()}")
        self.result["under_way"] = None
        self.save()
        return found

    @contextlib.contextmanager
    def load(self, *words: object):
        """The command again and again beside what is done inside."""
        command = [str(w) for w in words]
        with (self.folder / "load.log").open("ab") as log:
            process = subprocess.Popen(["sh", "-c", 'while "$@"; do :; done', "sh", *command], stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                yield
            finally:
                stop(process)


def run_command(name: str, command: list[str], limit: float, log: pathlib.Path, env: dict | None) -> Done:
    out = log.with_suffix(".out")
    begun = time.monotonic()
    code: int | None
    with out.open("wb") as stdout, log.open("wb") as stderr:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                       env={**os.environ, **(env or {})}, start_new_session=True)
        except OSError as error:
            log.write_text(f"{command[0]}: {error}\n", encoding="utf-8")
            return Done(name, 127, 0, "", log)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            stop(process)
            code = None
        except BaseException:
            stop(process)
            raise
    text = out.read_text(encoding="utf-8", errors="replace")
    with log.open("a", encoding="utf-8") as both:
        both.write(text)
    out.unlink()
    return Done(name, code, time.monotonic() - begun, text, log)


def stop(process: subprocess.Popen) -> None:
    """Its whole process group: asked first, then ended."""
    for sign, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def sha256(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
