"""How a trainer and its viewers talk: a socket in the runtime directory, and records of one size on it
(profiler/collect/trainer_link.h has their layout)."""
from __future__ import annotations

import errno
import os
import socket
import stat
import struct
from collections import deque
from typing import Any

from ._lib import Error

RECORD = struct.Struct("=4sHHQQQ8d416s")
MAGIC, VERSION = b"GSTR", 1
# To the viewer.
HELLO, PARAMETER, STEP, VALUE, SNAPSHOT, GOODBYE, CAPTURE = range(1, 8)
# From it.
WANT, RELEASE, RUN_TO, SET = range(16, 20)
NEVER = 2**64 - 1
MOST_VIEWERS = 4


def _socket_name(pid: int, again: int) -> str:
    return f"{pid}.training" if again == 1 else f"{pid}-{again}.training"


def _open_directory() -> int:
    """The runtime directory of base/record/protocol.h, made where it is missing."""
    own, user = os.environ.get("GAUSSCOPE_RUNTIME_DIR", ""), os.environ.get("XDG_RUNTIME_DIR", "")
    if own.startswith("/"):
        path = own
        try:
            found = os.lstat(own)
        except OSError:
            found = None
        open_to_all = stat.S_ISVTX | stat.S_IWOTH | stat.S_IXOTH
        if found and found.st_uid == 0 and stat.S_ISDIR(found.st_mode) and found.st_mode & open_to_all == open_to_all:
            path = os.path.join(own, str(os.geteuid()))
    elif user.startswith("/"):
        path = os.path.join(user, "gausscope")
    else:
        path = f"/tmp/gausscope-{os.geteuid()}"
    why = ""
    try:
        if not os.path.lexists(path):
            os.mkdir(path, 0o700)
        opened = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = os.fstat(opened)
        if found.st_uid != os.geteuid():
            why = "it belongs to another user"
        elif found.st_mode & 0o077:
            why = "others can access it: chmod 700"
        if not why:
            return opened
        os.close(opened)
    except OSError as error:
        why = error.strerror
    raise Error(f"{path} cannot be used: {why}. Name another folder in GAUSSCOPE_RUNTIME_DIR.", "unwritable", path)


class Peer:
    """A connected viewer."""

    def __init__(self, connection: socket.socket):
        self.socket = connection
        self.wants = False
        self.run_to = NEVER  # it pauses the training at this step
        self.lost = 0  # records that it was too slow to take
        self.owed: deque[bytes] = deque()  # those that it is to get all the same, in this order

    def owe(self, record: bytes) -> None:
        """Sends it, now or when there is space: what is not said again by the next step."""
        self.owed.append(record)
        self.settle()

    def settle(self) -> bool:
        """Whether it has got all that it is to get."""
        while self.owed and self._put(self.owed[0]):
            self.owed.popleft()
        return not self.owed

    def send(self, record: bytes, descriptor: int = -1) -> bool:
        """Sends it if there is space behind what is owed."""
        if self.settle() and self._put(record, descriptor):
            return True
        self.lost += 1
        return False

    def _put(self, record: bytes, descriptor: int = -1) -> bool:
        rights = [] if descriptor < 0 else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", descriptor))]
        try:
            self.socket.sendmsg([record], rights, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            return True
        except OSError:
            return False  # there is no space, or it has gone: receiving finds that


def make_record(kind: int, step: int = 0, a: int = 0, b: int = 0, values: Any = (), text: str = "") -> bytes:
    return RECORD.pack(MAGIC, VERSION, kind, step, a, b, *values, *[0.0] * (8 - len(values)), text.encode()[:415])


def listen(pid: int) -> tuple[socket.socket, str]:
    """A socket for viewers, and its path: the process's own, or its next where another namespace has a process of that number."""
    directory = _open_directory()
    at = f"/proc/self/fd/{directory}/"  # whatever the length of the path
    try:
        for again in range(1, 10):
            name = _socket_name(pid, again)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
                if probe.connect_ex(at + name) in (errno.ECONNREFUSED, errno.ENOENT):
                    break
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.setblocking(False)
        hidden = "." + name
        if os.path.lexists(at + hidden):
            os.unlink(at + hidden)
        listener.bind(at + hidden)
        os.chmod(at + hidden, 0o600)
        listener.listen(MOST_VIEWERS)
        os.rename(at + hidden, at + name)
        return listener, os.path.join(os.readlink(f"/proc/self/fd/{directory}"), name)
    except OSError as error:
        raise Error(f"no socket for viewers: {error}", "unwritable") from None
    finally:
        os.close(directory)
