"""NVTX by ctypes: what NVTX's headers do in a C program, for a Python without any package. The library that
NVTX_INJECTION64_PATH names is asked to listen, and fills tables of functions that are called through from then on; an empty
entry means that nobody listens. Used by gausscope_torch. The numbers are those of NVTX 3 (nvtxDetail/nvtxTypes.h)."""
import ctypes
import os
import threading

_CORE, _CORE2, _CALLBACKS, _ENTRIES = 1, 5, 1, 16
_PUSH, _POP, _NAME_CATEGORY, _CREATE_DOMAIN = 4, 5, 8, 12  # of _CORE2
_UNSIGNED_64, _ASCII, _NOT_TRACKED = 1, 1, -2
_LONGEST_NAME = 240


class _Attributes(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32),
                ("color_type", ctypes.c_int32), ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("payload", ctypes.c_uint64), ("message_type", ctypes.c_int32),
                ("message", ctypes.c_void_p)]


_GetTable = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
_GetExports = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class _Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get_table", _GetTable)]


class _Tables:
    """The tables that the library fills: pointers to functions, and pointers to those."""

    def __init__(self, library):
        self._slots = {module: (ctypes.c_void_p * _ENTRIES)() for module in (_CORE, _CORE2)}
        self._tables = {module: (ctypes.c_void_p * _ENTRIES)() for module in self._slots}
        for module, slots in self._slots.items():
            for i in range(1, _ENTRIES):
                self._tables[module][i] = ctypes.addressof(slots) + i * ctypes.sizeof(ctypes.c_void_p)
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _GetTable(self._get_table))
        self._get_exports = _GetExports(
            lambda number: ctypes.addressof(self._callbacks) if number == _CALLBACKS else None)
        self.listens = ctypes.CDLL(library).InitializeInjectionNvtx2(self._get_exports) != 0

    def _get_table(self, module, table, size):
        if module not in self._tables:
            return 0
        table[0] = ctypes.addressof(self._tables[module])
        size[0] = _ENTRIES
        return 1

    def function(self, number, *types):
        """The function there; does nothing where nobody listens. It keeps the interpreter's lock: it never waits."""
        address = self._slots[_CORE2][number]
        return ctypes.PYFUNCTYPE(*types)(address) if address else lambda *_: None


class _Thread(threading.local):
    """A thread's own attributes, filled in for every range."""

    def __init__(self):
        super().__init__()
        self.attributes = _Attributes(version=3, size=ctypes.sizeof(_Attributes), message_type=_ASCII)
        self.address = ctypes.addressof(self.attributes)


class Ranges:
    """Ranges of one domain on the calling thread. Raises OSError where the library cannot be loaded."""

    def __init__(self, domain, categories):
        self._tables = _Tables(os.environ["NVTX_INJECTION64_PATH"])
        self._categories = categories
        self._texts = {}
        self._thread = _Thread()
        self._create = self._tables.function(_CREATE_DOMAIN, ctypes.c_void_p, ctypes.c_char_p)
        self._name = self._tables.function(_NAME_CATEGORY, None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p)
        self._domain = self._create(domain.encode())
        self._push = self._recorded = self._tables.function(_PUSH, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._pop = self._tables.function(_POP, ctypes.c_int, ctypes.c_void_p)
        self._name_categories()
        os.register_at_fork(after_in_child=self._begin_again)

    def _name_categories(self, domain=None, categories=None):
        for number, text in enumerate(categories or self._categories, 1):
            self._name(domain or self._domain, number, str(text).encode())

    def tell_rank(self, rank, world_size):
        """Of this process, which need not be in the environment that it began with. A range was opened before."""
        self._name_categories(self._create(b"gausscope.rank"), (rank, world_size))

    def _begin_again(self):
        """A forked child is recorded from its first range on, and does not know its parent's categories."""
        self._push = self._first_push

    def _first_push(self, domain, attributes):
        self._push = self._recorded
        level = self._push(domain, attributes)
        self._name_categories()
        return level

    def text(self, name):
        """What push() takes for a name: the address of its bytes, which are kept."""
        known = self._texts.get(name)
        if known is None:
            known = self._texts[name] = ctypes.create_string_buffer(name.encode(errors="replace")[:_LONGEST_NAME])
            known.at = ctypes.addressof(known)
        return known.at

    def push(self, text, category, payload=None):
        """Opens a range; pop() must follow in any case. True: it is recorded."""
        thread = self._thread
        attributes = thread.attributes
        attributes.message = text
        attributes.category = category
        attributes.payload_type = 0 if payload is None else _UNSIGNED_64
        attributes.payload = payload or 0
        level = self._push(self._domain, thread.address)
        return level is not None and level != _NOT_TRACKED

    def pop(self):
        self._pop(self._domain)
