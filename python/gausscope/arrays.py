"""Arrays of other libraries as NumPy's or PyTorch's, without a copy where that can be: what has DLPack or NumPy's interface."""
from __future__ import annotations

from typing import Any

from ._lib import Error

_ON_HOST = (1, 3, 11)  # DLPack: memory of the CPU, and pinned by CUDA or ROCm


def exports_dlpack_alone(value: Any) -> bool:
    return hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__") and not hasattr(value, "__array__")


def as_numpy(name: str, value: Any) -> Any:
    """An array of any number type. Tensors of PyTorch may require gradients and be elsewhere. Errors: what NumPy refuses."""
    import numpy as np
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    try:
        if exports_dlpack_alone(value):
            device = getattr(value, "__dlpack_device__", lambda: (1, 0))()[0]
            if device not in _ON_HOST:
                raise Error(f"{name} is on a device that NumPy cannot read (DLPack's number {int(device)}): copy it to the CPU")
            return np.from_dlpack(value)
        return np.asarray(value)
    except Error:
        raise
    except (BufferError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise Error(f"{name} is {type(value).__name__}, which NumPy does not read: {error}") from None


def as_tensor(name: str, value: Any) -> Any:
    """A tensor of PyTorch; where nothing else can be, a copy."""
    import torch
    if isinstance(value, torch.Tensor):
        return value
    if not hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
        raise Error(f"{name} is {type(value).__name__}, not a torch.Tensor, nor an array with DLPack or NumPy's interface")
    try:
        if not hasattr(value, "__array_interface__"):
            return torch.from_dlpack(value)
        import numpy as np
        array = np.asarray(value)
        if not array.flags.writeable or any(stride < 0 for stride in array.strides) or not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="), order="C")
        return torch.from_numpy(array)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise Error(f"{name} is {type(value).__name__}, which PyTorch does not read: {error}") from None
