"""Protobuf messages as nested lists of (field, value), by protoc and the schemas beside this file; a message is a list."""
import ast
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def decode(data, message, schema, folder=HERE):
    """The fields of `data` (bytes), which are a `message` of `schema`; ValueError when protoc cannot read it."""
    out = subprocess.run(["protoc", f"--decode={message}", "-I", str(folder), schema], input=data, capture_output=True, check=False)
    if out.returncode != 0:
        raise ValueError(f"protoc: {out.stderr.decode()}")
    stack = [[]]
    for line in out.stdout.decode().splitlines():
        line = line.strip()
        if line.endswith("{"):
            stack.append([(line[:-1].strip(), None)])
        elif line == "}":
            nested = stack.pop()
            stack[-1].append((nested[0][0], nested[1:]))
        elif line:
            name, value = line.split(": ", 1)
            stack[-1].append((name, value))
    return stack[0]


def unquote(text):
    """A string of protobuf's text format; it escapes bytes as C and Python do."""
    return ast.literal_eval("b" + text).decode("utf-8")


def get(message, name, default=None):
    return next((value for field, value in message if field == name), default)


def every(message, name):
    return [value for field, value in message if field == name]
