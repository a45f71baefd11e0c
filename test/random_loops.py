"""Random loops: each function adds one loop to a program, or nothing."""
from random_ops import Step
LOOP_STEPS: tuple[Step, ...] = ()
