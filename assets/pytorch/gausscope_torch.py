"""Opens NVTX ranges in a program that trains with PyTorch and knows nothing of it: forward calls of modules by their qualified
names, the backward pass by module and autograd node, optimizer.step, the wait for a DataLoader, collectives. Imported by
sitecustomize.py; never imports torch itself.

A forward call and all of its backward pass bear one number as payload: that is how they are found again. Written for torch 1.13
and later; what a version has not is said once and left out. Code that torch.compile traces opens no ranges."""
import functools
import itertools
import os
import sys
import threading
import weakref

_FORWARD, _BACKWARD, _AUTOGRAD, _OPTIMIZER, _DATA, _COMMUNICATION = range(1, 7)
_CATEGORIES = ("forward", "backward", "autograd", "optimizer", "data", "communication")
_COLLECTIVES = ("all_reduce", "all_reduce_coalesced", "broadcast", "reduce", "all_gather", "all_gather_into_tensor",
                "_all_gather_base", "all_gather_coalesced", "gather", "scatter", "reduce_scatter", "reduce_scatter_tensor",
                "_reduce_scatter_base", "all_to_all", "all_to_all_single", "barrier", "send", "recv", "isend", "irecv")
_MOST_OUTPUTS = 4  # of a module that are looked at
_NODE = object()   # on the stack of what is open: an autograd node's range, or a wait

_ranges = None     # gausscope_nvtx.Ranges, once torch is there
_levels = 4        # of nested modules that get ranges
_numbers = itertools.count(1)
_compiling = lambda: False  # noqa: E731  (torch's own function, where it has one)
_ddp = ()          # DistributedDataParallel, where torch has it


class _Thread(threading.local):
    def __init__(self):
        super().__init__()
        self.call = None     # innermost forward call that has a range
        self.linked = []     # autograd nodes of the running forward pass that have hooks: the last few
        self.backward = []   # what is open of the backward pass: calls, and _NODE
        self.passes = 0      # backward passes that this thread asked for and waits for


_thread = _Thread()


# ---- names of modules ----

class _Name:
    __slots__ = ("module", "text", "forward", "backward", "waits")

    def __init__(self, module, text):
        key = id(module)
        self.module = weakref.ref(module, lambda _: _names.pop(key, None))
        self.text = text
        self.forward, self.backward = _ranges.text(text), _ranges.text(text + " (backward)")
        self.waits = isinstance(getattr(module, "_orig_mod", module), _ddp)  # for other ranks; compiled or not


_names = {}  # by id(module)


def _name(module, text):
    known = _names[id(module)] = _Name(module, text)
    return known


def _name_of(module, parent):
    """Of a module that is called inside `parent` (a _Call, or None). A model's modules are named when it is first called."""
    known = _names.get(id(module))
    if known is not None and known.module() is module:
        return known
    kind = type(module).__name__
    if parent is None:
        try:
            for path, inner in module.named_modules():
                _name(inner, f"{kind}.{path}" if path else kind)
        except Exception:  # whatever is wrong with it, its call is to say so
            pass
        return _names.get(id(module)) or _name(module, kind)
    outer = parent.name.module()
    children = getattr(outer, "_modules", {}).items()
    return _name(module, next((f"{parent.name.text}.{key}" for key, child in children if child is module), kind))


# ---- forward ----

class _Call:
    """One call of a module: identifies its backward pass."""
    __slots__ = ("name", "number", "chain", "first")

    def __init__(self, name, parent):
        self.name, self.number = name, next(_numbers)
        self.chain = (*parent.chain, self) if parent is not None else (self,)
        self.first = None  # of the outermost call: the one whose backward comes last


def _forward(original):
    @functools.wraps(original)
    def call(self, *args, **kwargs):
        if _compiling():
            return original(self, *args, **kwargs)
        parent = _thread.call
        if parent is not None and len(parent.chain) >= _levels:
            return original(self, *args, **kwargs)
        this = _Call(_name_of(self, parent), parent)
        recorded = _ranges.push(this.name.forward, _FORWARD, this.number)
        _thread.call = this
        try:
            out = original(self, *args, **kwargs)
        finally:
            _ranges.pop()
            _thread.call = parent
            if parent is None:
                linked, _thread.linked = _thread.linked, []  # a graph lives no longer than without us
        if recorded:
            _link(out, this, _thread.linked if parent is not None else linked)
            if this.name.waits:
                _link_wait(getattr(self, "_orig_mod", self), out)
        return out
    return call


def _tensors(value):
    """The tensors of a module's result: a single one, a list or a dict."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else (value,)
    return itertools.islice((v for v in values if hasattr(v, "grad_fn")), _MOST_OUTPUTS)


def _link(out, call, linked):
    """The nodes that made `out` bear the call's number in the backward pass."""
    for tensor in _tensors(out):
        try:
            node = tensor.grad_fn
            if node is None or any(node is known for known in linked):  # an inner module's output, passed on
                continue
            node.register_prehook(functools.partial(_begin_node, call, _ranges.text(node.name())))
            node.register_hook(functools.partial(_end_node, call))
        except Exception:  # of a kind that takes no hooks
            continue
        linked[:] = [*linked[1 - _MOST_OUTPUTS:], node]
        root = call.chain[0]
        root.first = root.first or call


# ---- backward ----

def _close(stack, length=0):
    while len(stack) > length:
        stack.pop()
        _ranges.pop()


def _begin_node(call, text, _gradients):
    """Opens the modules the node is in, closes those it is not in, and opens the node."""
    stack, common = _thread.backward, 0
    for have, wanted in zip(stack, call.chain):
        if have is not wanted:
            break
        common += 1
    _close(stack, common)
    for outer in call.chain[common:]:
        _ranges.push(outer.name.backward, _BACKWARD, outer.number)
        stack.append(outer)
    _ranges.push(text, _AUTOGRAD, call.number)
    stack.append(_NODE)


def _end_node(call, _inputs, _outputs):
    stack = _thread.backward
    if stack and stack[-1] is _NODE:
        _close(stack, len(stack) - 1)
    if call.chain[0].first is call:  # a GPU's thread of the engine does not learn that the pass is over
        _close(stack)


def _backward(original, name):
    @functools.wraps(original)
    def run(*args, **kwargs):
        if _compiling():
            return original(*args, **kwargs)
        outer, _thread.backward = _thread.backward, []  # a pass within a pass: checkpointing
        _thread.passes += 1
        _ranges.push(name, _BACKWARD)
        try:
            return original(*args, **kwargs)
        finally:
            _close(_thread.backward)
            _ranges.pop()
            _thread.passes -= 1
            _thread.backward = outer
    return run


# ---- DistributedDataParallel's wait for the other ranks ----

_reduced = weakref.WeakKeyDictionary()  # bytes of the gradients, by model


def _reduced_bytes(model):
    known = _reduced.get(model)
    if known is None:
        known = _reduced[model] = _bytes_of([p for p in model.parameters() if p.requires_grad])
    return known


def _link_wait(model, out):
    """The reducer waits in one of the callbacks that the engine calls behind the last node, in the order in which they came.
    This one comes first: from the pass's first node."""
    if not model.require_backward_grad_sync:
        return
    import torch.nn.parallel.distributed as distributed
    from torch.autograd import Variable
    name, size, waits = _ranges.text("DistributedDataParallel.wait"), _reduced_bytes(model), []

    def wait():
        stack = _thread.backward
        if _thread.passes and not (stack and stack[-1] is _NODE):  # on a GPU's thread of the engine nothing waits
            _close(stack)
            _ranges.push(name, _COMMUNICATION, size)
            stack.append(_NODE)

    def begin(_gradients):
        if not waits:
            waits.append(wait)
            Variable._execution_engine.queue_callback(wait)
    try:
        for tensor in distributed._find_tensors(out):
            if tensor.grad_fn is not None:
                tensor.grad_fn.register_prehook(begin)
    except Exception:  # of a kind that takes no hooks
        pass


# ---- the rest ----

def _bytes_of(value):
    if isinstance(value, (list, tuple)):
        return sum(map(_bytes_of, value))
    return value.numel() * value.element_size() if hasattr(value, "element_size") else 0


def _wrapped(original, category, name_of, payload_of=lambda args, kwargs: None):
    """`original` in a range; names and payloads from its arguments."""
    @functools.wraps(original)
    def run(*args, **kwargs):
        if _compiling():
            return original(*args, **kwargs)
        _ranges.push(_ranges.text(name_of(args)), category, payload_of(args, kwargs))
        try:
            return original(*args, **kwargs)
        finally:
            _ranges.pop()
    run._gausscope = True
    return run


def _hook_modules(torch):
    global _ddp
    _ddp = getattr(torch.nn.parallel, "DistributedDataParallel", _ddp)
    torch.nn.Module.__call__ = _forward(torch.nn.Module.__call__)


def _hook_backward(torch):
    torch.autograd.backward = _backward(torch.autograd.backward, _ranges.text("backward"))
    torch.autograd.grad = _backward(torch.autograd.grad, _ranges.text("autograd.grad"))


_stepped = {}  # by class: [weak reference to an optimizer, its number], the last to step at the end


def _optimizer_name(optimizer, around="{}"):
    """"Optimizer.step#Adam.step". Of a class whose optimizers take turns (GAN) the later ones have numbers; one that only comes
    after another one's last step has none."""
    known = _stepped.setdefault(type(optimizer), [])
    known[:] = [entry for entry in known if entry[0]() is not None]
    place = next((i for i, entry in enumerate(known) if entry[0]() is optimizer), len(known))
    for entry in known[place:] if place + 1 < len(known) else ():
        if entry[1] is None:
            before = sum(other[1] is not None for other in known)
            entry[1] = f" {before + 1}" if before else ""
    known.append(known.pop(place) if place < len(known) else [weakref.ref(optimizer), None])
    return f"Optimizer.step#{around.format(type(optimizer).__name__)}.step{known[-1][1] or ''}"


def _hook_optimizers(torch):
    base = torch.optim.Optimizer
    patch = "_patch_step_function" if hasattr(base, "_patch_step_function") else "_hook_for_profile"
    original = getattr(base, patch)  # torch calls it of every optimizer that is made

    @functools.wraps(original)
    def hook(self):
        original(self)
        kind = type(self)
        if not getattr(kind.step, "_gausscope", False):
            kind.step = _wrapped(kind.step, _OPTIMIZER, lambda args: _optimizer_name(args[0]))
    setattr(base, patch, hook)
    # A scaler (AMP) leaves out steps whose gradients overflow: its own step is what comes once in each iteration.
    for scaler in {getattr(getattr(torch, "amp", None), "GradScaler", None), torch.cuda.amp.GradScaler} - {None}:
        if "step" in vars(scaler):
            scaler.step = _wrapped(scaler.step, _OPTIMIZER,
                                   lambda args: _optimizer_name(args[1] if args[1:] else args[0], "GradScaler({})"))


def _hook_data(torch):
    import torch.utils.data.dataloader as data
    base = data._BaseDataLoaderIter
    base.__next__ = _wrapped(base.__next__, _DATA,
                             lambda args: f"enumerate(DataLoader)#{type(args[0]).__name__}.__next__")


def _hook_collectives(torch):
    import torch.distributed as distributed
    if not distributed.is_available():
        return
    import torch.distributed.distributed_c10d as c10d

    def payload(args, kwargs):
        return _bytes_of(next(itertools.chain(args, kwargs.values()), None)) or None
    for name in _COLLECTIVES:
        original = getattr(c10d, name, None)
        if original is None:
            continue
        ranged = _wrapped(original, _COMMUNICATION, lambda _, name=name: name, payload)
        for module in (c10d, distributed):
            if getattr(module, name, None) is original:
                setattr(module, name, ranged)
    c10d.Work.wait = _wrapped(c10d.Work.wait, _COMMUNICATION, lambda _: "Work.wait")
    begin = _wrapped(c10d.init_process_group, _COMMUNICATION, lambda _: "init_process_group")

    @functools.wraps(begin)
    def init_process_group(*args, **kwargs):
        begin(*args, **kwargs)
        _ranges.tell_rank(c10d.get_rank(), c10d.get_world_size())
        _hook_functional_collectives()
    c10d.init_process_group = distributed.init_process_group = init_process_group


def _hook_functional_collectives():
    """Those of DTensor and tensor parallelism: they wait at the first use of their result."""
    try:
        import torch.distributed._functional_collectives as functional
        if not hasattr(functional.wait_tensor, "_gausscope"):
            functional.wait_tensor = _wrapped(functional.wait_tensor, _COMMUNICATION, lambda _: "wait_tensor")
    except (ImportError, AttributeError):
        pass


def _install(torch):
    global _ranges, _levels, _compiling
    sys.path.insert(0, os.path.dirname(__file__))  # sitecustomize has taken it away
    try:
        from gausscope_nvtx import Ranges
    finally:
        del sys.path[0]
    _levels = int(os.environ.get("GAUSSCOPE_PYTORCH_LEVELS") or _levels)
    _ranges = Ranges("PyTorch", _CATEGORIES)
    _compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _compiling)
    for hook, what in ((_hook_modules, "modules"), (_hook_backward, "backward passes"), (_hook_optimizers, "optimizers"),
                       (_hook_data, "data loaders"), (_hook_collectives, "collectives")):
        try:
            hook(torch)
        except Exception as error:
            print(f"gausscope: no ranges of {what} with torch {torch.__version__}: {error!r}", file=sys.stderr)


# ---- until torch is there ----

class _Loader:
    """torch's own loader, and what comes after it."""

    def __init__(self, loader, watch):
        self._loader, self._watch = loader, watch

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            if self._watch in sys.meta_path:
                sys.meta_path.remove(self._watch)
            _install(module)
        except Exception as error:
            print(f"gausscope: no ranges of PyTorch: {error!r}", file=sys.stderr)


class _Watch:
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        finders = [f for f in sys.meta_path if f is not self and hasattr(f, "find_spec")]
        spec = next(filter(None, (f.find_spec(name, path, target) for f in finders)), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec


def watch():
    """From the next import of torch on there are ranges. Does nothing where no NVTX tool is named."""
    if os.environ.get("NVTX_INJECTION64_PATH") and "torch" not in sys.modules:
        sys.meta_path.insert(0, _Watch())
