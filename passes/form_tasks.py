from dataclasses import dataclass
from pyptoc.passes.base import PyptocPass
@dataclass(frozen=True)
class FormTasksPass(PyptocPass):
    """Later."""
    name = "form-tasks"
    summary = "x"
    def run(self, ctx, module): pass
