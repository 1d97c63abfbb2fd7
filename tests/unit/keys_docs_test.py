#!/usr/bin/env python3
"""The keys that the pages name are those of the built-in key map. keys_docs_test.py ROOT."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop())


def key_map(name):
    """The lines of a key map, (key, command with its arguments)."""
    lines = (ROOT / f"assets/keys/{name}.keys").read_text().splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]


def rows(page, *heading):
    """The cells of the rows of all tables of a page that begin with this heading."""
    inside = False
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        inside = cells[:len(heading)] == list(heading) or (inside and bool(cells))
        if inside and cells[:len(heading)] != list(heading) and not set(line) <= set("|- "):
            yield cells


def code(cell):
    return re.findall(r"`([^`]+)`", cell)


class Keys(unittest.TestCase):
    def test_the_page_of_keys_has_all(self):
        listed = [(key, code(cells[1])[0]) for cells in rows(ROOT / "docs/keys.md", "key", "command")
                  for key in code(cells[0])]
        self.assertEqual(sorted(listed), sorted(key_map("gausscope")))

    def test_the_pages_of_commands_agree(self):
        of_command = {}
        for key, command in key_map("gausscope"):
            of_command.setdefault(command, []).append(key)
        seen = 0
        for page in sorted((ROOT / "docs").glob("*.md")):
            for cells in rows(page, "command", "key"):
                names = [text.split()[0] for text in code(cells[0])]
                expected = [key for name in names for key in of_command.get(name, [])]
                with self.subTest(page=page.name, commands=names):
                    self.assertEqual(code(cells[1]), expected)
                seen += 1
        self.assertGreater(seen, 100)

    def test_no_key_is_given_twice(self):
        for path in (ROOT / "assets/keys").glob("*.keys"):
            keys = [key for key, _ in key_map(path.stem)]
            self.assertEqual(len(keys), len(set(keys)), path)


if __name__ == "__main__":
    unittest.main()
