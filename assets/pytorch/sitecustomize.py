"""What `gausscope record --pytorch` puts on the path (PYTHONPATH): Python imports this file at its start. It waits for
the import of torch, and makes way for the sitecustomize that would have been imported without it."""
import sys


def _next(folder):
    """The spec of the sitecustomize behind this one; None: there is none."""
    from importlib.machinery import PathFinder
    return PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != folder])


def _begin(folder):
    try:
        import gausscope_torch
        gausscope_torch.watch()
    except Exception as error:  # the program is not to suffer from what looks at it
        print(f"gausscope: no ranges of PyTorch: {error!r}", file=sys.stderr)
    sys.path[:] = [path for path in sys.path if path != folder]  # nothing of ours is in the way of the program's own modules


def _go_on(folder):
    spec = _next(folder)
    if spec is None:
        return
    from importlib.util import module_from_spec
    module = sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(module)  # Python reports its exceptions as always


_FOLDER = __file__.rpartition("/")[0]
_begin(_FOLDER)
_go_on(_FOLDER)
