"""The program of docs/api.md: the type checker reads it, the tests run it."""

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import pyptoc
from pyptoc.dialects.context import PyptocContext

SOURCE = """
func.func @scale(%x: tensor<?x64xf32> {pypto.dims = ["M"]}, %s: tensor<64xf32>)
    -> (tensor<?x64xf32> {pypto.name = "y"}) {
  %y = pypto.mul %x, %s
  func.return %y : tensor<?x64xf32>
}
"""
x = np.ones((16, 64), np.float32)
s = np.linspace(0, 1, 64, dtype=np.float32)

program = pyptoc.compile(SOURCE, machine="ascend950")
y = program.run(x=x, s=s)["y"]
assert np.array_equal(y, x * s)

timeline = program.simulate(M=16)
print(f"{1e6 * timeline.seconds:.2f} us, bound: {timeline.bound}")
program.check(M=16)

rows = pyptoc.sweep(SOURCE, {"bind.M": [16, 4096]}, jobs=1)
assert rows[0].seconds == timeline.seconds

print(program.ir("tasks"))
assert "npu.kernel" in program.ir("lower-to-tile")
assert program.ir("program") == program.text

pipeline = pyptoc.Pipeline()  # the default one; Pipeline("inline,desugar") reads a text
pipeline.remove("plan-memory")
pipeline.insert("plan-memory{slots=3}", before="insert-sync")
deeper = pyptoc.compile(SOURCE, pipeline=pipeline)
assert np.array_equal(deeper.run(x=x, s=s)["y"], y)
print(pipeline.names, pipeline)


@pyptoc.register_pass
class CountPass(pyptoc.Pass):
    name = "count-ops"
    summary = "says how many operations a function has"

    def run(self, ctx: PyptocContext, module: ModuleOp) -> None:
        for function in module.ops:
            ctx.remark(function, f"{len(list(function.walk()))} operations")


counted = pyptoc.compile(SOURCE, pipeline="inline,count-ops")
assert counted.remarks[0].message == "3 operations"

try:
    pyptoc.compile(SOURCE.replace("%x, %s", "%x, %t"))
except pyptoc.CompileError as problem:
    for found in problem.diagnostics:
        print(found.code, found.file, found.line, found.column, found.message)
        print(found.rule, found.here, found.help, found.notes)
    print(problem.to_json())
