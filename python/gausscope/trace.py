"""Traces as NumPy columns: Perfetto, Chrome JSON (PyTorch's profiler), Nsight Systems, XPlane, and those of gausscope."""
from __future__ import annotations

import functools
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Union

from .program import Path, call

if TYPE_CHECKING:
    import numpy as np

    Columns = dict[str, np.ndarray]

_KINDS = ("kernel", "copy", "fill", "graph", "stage")


class Trace:
    """A trace file, read; of several files of one job, on one clock. Tables are dicts of arrays of one length; arrow() gives
    them to pandas and others; times are nanoseconds, texts are arrays of str.

        trace = gausscope.Trace("run.pftrace")
        kernels = trace.kernels
        long = kernels["name"][kernels["duration_ns"] > 1_000_000]
    """

    about: dict[str, Any]       #: what `gausscope trace --json` says: format, stages, kernels, losses, notes, …
    tracks: list[dict[str, Any]]     #: name, kind ("thread", "GPU stream", …), process (an index), tid
    processes: list[dict[str, Any]]  #: pid, name, and how its iterations were found

    def __init__(self, path: Path, *others: Path, stage_map: Union[Path, None] = None):
        import numpy as np
        self.paths = [os.fspath(p) for p in (path, *others)]
        self._options = {"stage_map": stage_map}
        with tempfile.TemporaryDirectory(prefix="gausscope-") as folder:
            file = os.path.join(folder, "trace.npz")
            self.about = call("trace", *self.paths, export=file, allow_loss=True, progress=False, **self._options)
            with np.load(file) as columns:
                self._columns = {name: columns[name] for name in columns.files}
        about = json.loads(self._columns.pop("about.json"))
        self.tracks, self.processes, self._series = about["tracks"], about["processes"], about["series"]
        self._names = np.array(about["names"], dtype=object)

    def _table(self, prefix: str) -> Columns:
        return {name[len(prefix):]: column for name, column in self._columns.items() if name.startswith(prefix)}

    @functools.cached_property
    def spans(self) -> Columns:
        """Ranges of threads, CUDA calls and work of GPU streams, by track, row and time: name, begin_ns, end_ns,
        duration_ns, track (an index into `tracks`), row (0 is the outermost), payload (NaN: none). Ranges that had not
        ended are in about["open"]."""
        table = self._table("span_")
        return {"name": self._names[table.pop("name")], "duration_ns": table["end_ns"] - table["begin_ns"], **table}

    @functools.cached_property
    def kernels(self) -> Columns:
        """The spans that are pieces of GPU work with details: the columns of `spans`, and kind ("kernel", "copy", "fill",
        "graph"), bytes, grid [n, 3], block [n, 3], registers (a thread), shared (bytes); 0: unknown."""
        import numpy as np
        table = self._table("kernel_")
        at = table.pop("span")
        kinds = np.array(_KINDS, dtype=object)[table.pop("kind")]
        return {**{name: column[at] for name, column in self.spans.items()}, "kind": kinds, **table}

    @functools.cached_property
    def counters(self) -> dict[str, Columns]:
        """Series by name: time_ns and value. Where several processes have one of a name, it is followed by " (PID)"."""
        import numpy as np
        table = self._table("counter_")
        ends = np.searchsorted(table["series"], np.arange(len(self._series) + 1))
        names = [series["name"] for series in self._series]
        out = {}
        for i, (name, series) in enumerate(zip(names, self._series)):
            if names.count(name) > 1:
                name = f"{name} ({self.processes[series['process']]['pid']})"
            out[name] = {key: table[key][ends[i]:ends[i + 1]] for key in ("time_ns", "value")}
        return out

    @functools.cached_property
    def instants(self) -> Columns:
        """Marks: name, time_ns, track."""
        table = self._table("instant_")
        return {"name": self._names[table.pop("name")], **table}

    @functools.cached_property
    def iterations(self) -> Columns:
        """Of every process: process (an index), number, begin_ns, end_ns, duration_ns."""
        table = self._table("iteration_")
        return {**table, "duration_ns": table["end_ns"] - table["begin_ns"]}

    def totals(self, table: str = "spans") -> Columns:
        """Times by name, the largest total first, of "spans" or "kernels": name, count, total_ns, mean_ns, max_ns. Spans
        inside others of their name count twice."""
        import numpy as np
        columns = getattr(self, table)
        index = self._columns["span_name"]
        index = index if table == "spans" else index[self._columns["kernel_span"]]
        length = columns["duration_ns"]
        size = len(self._names)
        count, total = np.bincount(index, minlength=size), np.zeros(size, np.int64)
        most = np.zeros(size, np.int64)
        np.add.at(total, index, length)
        np.maximum.at(most, index, length)
        order = np.argsort(-total, kind="stable")
        order = order[count[order] > 0]
        return {"name": self._names[order], "count": count[order], "total_ns": total[order],
                "mean_ns": total[order] / count[order], "max_ns": most[order]}

    def arrow(self, table: str = "spans") -> Any:
        """A table as a pyarrow.Table, which goes into Polars, DuckDB, Parquet and, by to_pandas(), pandas: texts are dictionaries,
        grid and block lists of three. table: "spans", "kernels", "instants", "iterations". Needs pyarrow."""
        import pyarrow as pa

        def column(values: Any) -> Any:
            if values.ndim == 2:
                return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
            return pa.array(values, pa.string()).dictionary_encode() if values.dtype == object else pa.array(values)
        return pa.table({name: column(values) for name, values in getattr(self, table).items()})

    def insights(self, **options: Any) -> dict[str, Any]:
        """What costs time and what would help, as `gausscope trace --insights --json` says it. baseline: an earlier trace,
        to find regressions; history: the job's earlier times."""
        return call("trace", *self.paths, insights=True, progress=False, **self._options, **options)["insights"]

    def __repr__(self) -> str:
        return (f"<Trace {self.paths[0]!r}: {self.about['format']}, {len(self._columns['span_name']):,} spans, "
                f"{len(self._columns['kernel_span']):,} pieces of GPU work>")
