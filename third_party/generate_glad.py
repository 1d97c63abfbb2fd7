#!/usr/bin/python3
"""Writes the OpenGL 4.5 core loader into a folder: generate_glad.py FOLDER.

Runs the distribution's glad with the specification and headers its own package ships; by itself it would fetch them from
the network, which a build must not.
"""
import os
import pathlib
import sys

import glad
import glad.__main__
from glad.generator.c import CGenerator

out = pathlib.Path(sys.argv[1]).resolve()
files = pathlib.Path(glad.__file__).parent / "files"
CGenerator.ADDITIONAL_HEADERS = [
    header._replace(url=(files / pathlib.Path(header.include).name).as_uri()) for header in CGenerator.ADDITIONAL_HEADERS
]
os.chdir(files)  # gl.xml is looked for in the working folder first
sys.argv = ["glad", "--api", "gl:core=4.5", "--quiet", "--out-path", str(out), "c"]
glad.__main__.main()
