"""The loops of a kernel's code, and what one trip through each costs.

A loop is a natural one: an edge back to an instruction that every way to the edge goes through. Each instruction belongs to
the innermost loop around it; code outside loops is loop 0. So a kernel's cost is the sum over its loops of trips x what stands
here, and nothing is counted twice.

Not followed: code for warps whose lanes have parted (BRA.DIV) and the helpers that CALL reaches (division of denormals). It
belongs to no loop.

Load-wait rounds: on the longest way through one trip, how many latencies of global or local memory follow one another, when
everything else takes no time. A load starts at the time of its issue and is there one round later; an instruction that waits
for the scoreboard that the load sets moves time to then. Loads issued together cost one round. For a loop it is what a trip
adds once it runs (loads for the next trip may be under way), without the loops inside it.
"""
import dataclasses

from sass_code import ALWAYS, Instruction, Kernel, branch_target
import sass_operations as ops

SCOREBOARDS = 6


@dataclasses.dataclass
class Loop:
    index: int                  # 0: code outside loops; then in the order of the code
    parent: int
    depth: int
    head: int                   # instruction
    own: list[int]              # instructions, those of inner loops left out
    least: int                  # of them, on the shortest way through one trip
    rounds: int


def is_collective(i: Instruction, kernel: Kernel) -> bool:
    """WARPSYNC.COLLECTIVE names the instruction after a shuffle for lanes that have parted."""
    return kernel.architecture >= 90 and i.low >> 9 & 7 == 1


class Flow:
    """Basic blocks of what a warp whose lanes keep together can reach."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.code = kernel.code
        self.jumps = {}          # instruction: where else it may continue
        self.off = []            # targets that are no instruction of the kernel: (instruction, target)
        self._find_jumps()
        self.starts = self._block_starts()
        self.blocks = {s: range(s, e) for s, e in zip(self.starts, self.starts[1:] + [len(self.code)])}
        self.successors = {s: self._after(b[-1]) for s, b in self.blocks.items()}
        self.order = self._reverse_postorder()
        self.rank = {b: n for n, b in enumerate(self.order)}
        self.predecessors = {b: [] for b in self.order}
        for b in self.order:
            for s in self.successors[b]:
                self.predecessors[s].append(b)
        self.dominator = self._dominators()

    def _find_jumps(self) -> None:
        for n, i in enumerate(self.code):
            if i.operation in (ops.BRA, ops.CALL) or (i.operation == ops.WARPSYNC and is_collective(i, self.kernel)):
                target = branch_target(n, i, self.kernel.architecture)
                if not isinstance(target, int) or not 0 <= target < len(self.code):
                    self.off.append((n, target))
                elif i.operation == ops.BRA or (i.operation == ops.CALL and target not in self.kernel.helpers):
                    self.jumps[n] = [target]  # a call of no function is a jump
        for n, targets in self.kernel.tables.items():
            self.off += [(n, t) for t in targets if not 0 <= t < len(self.code)]
            self.jumps[n] = [t for t in targets if 0 <= t < len(self.code)]

    def _block_starts(self) -> list[int]:
        starts = {0} | {t for targets in self.jumps.values() for t in targets}
        starts |= {n + 1 for n, i in enumerate(self.code) if i.operation in (ops.EXIT, ops.RET) or n in self.jumps}
        return sorted(starts - {len(self.code)})

    def _after(self, n: int) -> list[int]:
        """The blocks that may follow instruction `n`, the last of its block."""
        i = self.code[n]
        next_one = [n + 1] if n + 1 < len(self.code) else []
        if i.operation in (ops.EXIT, ops.RET):
            return [] if i.guard == ALWAYS else next_one
        if i.operation == ops.BRX:
            return self.jumps.get(n, [])
        taken = self.jumps.get(n, [])
        if i.operation != ops.BRA:
            return taken if i.guard == ALWAYS and taken else next_one + taken
        kind = i.low >> 32 & 3
        if kind == 2:  # .DIV: only when lanes have parted
            return next_one
        if kind == 3:  # .CONV: unless they have
            return taken
        predicate = i.low >> 24 & 15 if kind == 1 else i.high >> 23 & 15  # .U: a uniform one
        return taken if i.guard == ALWAYS and predicate == ALWAYS else list(dict.fromkeys(next_one + taken))

    def _reverse_postorder(self) -> list[int]:
        order, seen, stack = [], {0}, [(0, iter(self.successors[0]))]
        while stack:
            block, rest = stack[-1]
            for s in rest:
                if s not in seen:
                    seen.add(s)
                    stack.append((s, iter(self.successors[s])))
                    break
            else:
                order.append(block)
                stack.pop()
        return order[::-1]

    def _dominators(self) -> dict[int, int]:
        """Of each block the nearest that every way to it goes through (Cooper, Harvey, Kennedy 2001)."""
        rank, above = self.rank, {0: 0}
        changed = True
        while changed:
            changed = False
            for b in self.order[1:]:
                best = None
                for p in self.predecessors[b]:
                    if p not in above:
                        continue
                    if best is None:
                        best = p
                        continue
                    x, y = p, best
                    while x != y:
                        while rank[x] > rank[y]:
                            x = above[x]
                        while rank[y] > rank[x]:
                            y = above[y]
                    best = x
                if above.get(b) != best:
                    above[b] = best
                    changed = True
        return above

    def reached_share(self) -> float:
        """Of the instructions before the first helper."""
        body = [n for n in range(min(self.kernel.helpers, default=len(self.code))) if self.code[n].operation != ops.NOP]
        reached = sum(len(self.blocks[b]) for b in self.order)
        return reached / len(body) if body else 1.0

    def dominates(self, a: int, b: int) -> bool:
        while self.rank[b] > self.rank[a]:
            b = self.dominator[b]
        return a == b

    def natural_loops(self) -> dict[int, set[int]]:
        """Head: the blocks of the loop, by their place in the code."""
        loops: dict[int, set[int]] = {}
        for b in self.order:
            for head in self.successors[b]:
                if not self.dominates(head, b):
                    continue
                body, work = loops.setdefault(head, {head}), [b]
                while work:
                    if (at := work.pop()) not in body:
                        body.add(at)
                        work += self.predecessors[at]
        return dict(sorted(loops.items()))


def _step(state: list[int], i: Instruction, loads_count: bool) -> None:
    """state: the time in rounds, then of each scoreboard when all that set it is there."""
    waits = i.waits | (1 << (i.low >> 44 & 7) if i.operation == ops.DEPBAR else 0)
    for s in range(SCOREBOARDS):
        if waits >> s & 1:
            state[0] = max(state[0], state[1 + s])
    if i.sets < SCOREBOARDS and i.operation in ops.LOADS:
        state[1 + i.sets] = max(state[1 + i.sets], state[0] + loads_count)


def _pass(flow: Flow, inside: set[int], own: set[int], start: int, state: list[int], leaves) -> list[int]:
    """The latest state in which one way through `inside` leaves it. Waiting and loading only take maxima and add, so the
    latest of every scoreboard where ways meet is that of the longest way."""
    states, last = {start: state}, None
    for b in sorted(inside, key=flow.rank.__getitem__):
        if b not in states:
            continue
        now = list(states.pop(b))
        for n in flow.blocks[b]:
            _step(now, flow.code[n], b in own)
        for s in flow.successors[b]:
            if s in inside and flow.rank[s] > flow.rank[b]:
                states[s] = [max(x, y) for x, y in zip(states[s], now)] if s in states else now
        if leaves(b):
            last = now if last is None else [max(x, y) for x, y in zip(last, now)]
    return last or state


def _rounds(flow: Flow, inside: set[int], own: set[int], start: int, is_loop: bool) -> int:
    def leaves(b):
        return start in flow.successors[b] if is_loop else not flow.successors[b]
    once = _pass(flow, inside, own, start, [0] * (1 + SCOREBOARDS), leaves)
    return _pass(flow, inside, own, start, once, leaves)[0] - once[0] if is_loop else once[0]


def _least(flow: Flow, inside: set[int], own: set[int], start: int, is_loop: bool) -> int:
    """Instructions of `own` on the shortest way from `start` back to it, or to the kernel's end."""
    best = {start: 0}
    ends = []
    for b in sorted(inside, key=flow.rank.__getitem__):
        if b not in best:
            continue
        after = best[b] + (len(flow.blocks[b]) if b in own else 0)
        for s in flow.successors[b]:
            if s == start and is_loop:
                ends.append(after)
            elif s in inside and flow.rank[s] > flow.rank[b]:
                best[s] = min(best.get(s, after), after)
        if not is_loop and not flow.successors[b]:
            ends.append(after)
    return min(ends, default=0)


def loops_of(flow: Flow) -> list[Loop]:
    """Loop 0, the code outside loops, comes first."""
    natural = flow.natural_loops()
    heads = list(natural)
    reached = set(flow.order)
    parents = {}
    for h in heads:
        around = [o for o in heads if o != h and h in natural[o]]
        parents[h] = min(around, key=lambda o: len(natural[o]), default=None)
    index = {None: 0} | {h: n + 1 for n, h in enumerate(heads)}
    found = []
    for head in [None] + heads:
        inside = reached if head is None else natural[head]
        inner = [natural[h] for h in heads if parents[h] == head]
        own = inside - set().union(*inner)
        depth, up = 0, head
        while up is not None:
            depth, up = depth + 1, parents[up]
        start, is_loop = head or 0, head is not None
        found.append(Loop(index[head], index[parents[head]] if is_loop else 0, depth, start,
                          [n for b in sorted(own) for n in flow.blocks[b]],
                          _least(flow, inside, own, start, is_loop), _rounds(flow, inside, own, start, is_loop)))
    return found


def rounds_once(flow: Flow) -> int:
    """Load-wait rounds of the whole kernel when every loop is gone through once."""
    reached = set(flow.order)
    return _rounds(flow, reached, reached, 0, False)
