"""Stored numbers that may only fall, for tests/size.py and tools/check_style. Their file has one "NUMBER KEY" a line, and
comments. A key that is not stored has the number 0.
"""


def load(file):
    stored = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        count, _, key = line.partition(" ")
        if not count.isdigit() or not key or key in stored:
            raise SystemExit(f"{file}:{number}: not a number and a key of its own: {line}")
        stored[key] = int(count)
    return stored


def risen(stored, now):
    return [key for key, count in now.items() if count > stored.get(key, 0)]


def fallen(stored, now):
    return [key for key, count in stored.items() if count > now.get(key, 0)]


def lower(file, stored, now):
    """Stores today's number where it is lower. Returns how many were."""
    changed = fallen(stored, now)
    lowered = {key: min(count, now.get(key, 0)) for key, count in stored.items()}
    comments = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    rows = [f"{count} {key}" for key, count in lowered.items() if count]
    file.write_text("\n".join([*comments, *rows]) + "\n", encoding="utf-8")
    return len(changed)


def note(stored, now, command):
    """What to print while stored numbers are higher than they need be; or nothing."""
    loose = [f"{key} {stored[key]:,} -> {now.get(key, 0):,}" for key in fallen(stored, now)]
    more = f" and {len(loose) - 5} more" if len(loose) > 5 else ""
    return f"note: lower the stored numbers with {command}: {'; '.join(loose[:5])}{more}" if loose else ""
