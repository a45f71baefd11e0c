"""
lit's view of the .mlir tests: `lit test`, or `pytest test`, which collects them too.

`--param mode=process` runs every command as a process of its own.
"""

# ruff: noqa: F821 (lit provides `config` and `lit_config`)
import os
import sys

import lit.formats

config.name = "pyptoc"
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [config.test_source_root, os.path.dirname(config.test_source_root)]

from inprocess import BUILD, InProcessFormat, process_environment  # noqa: E402

config.test_exec_root = str(BUILD / "lit")
os.makedirs(config.test_exec_root, exist_ok=True)
if lit_config.params.get("mode", "inprocess") == "process":
    config.test_format = lit.formats.ShTest(execute_external=False)
    config.environment.update(process_environment())
else:
    config.test_format = InProcessFormat()
