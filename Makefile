# make demo   compile, run and check one operator        make test   everything
# make lint   ruff and the type checker                   make bench  measurements
# make calibrate  the timing model against measured kernels
# make corpus     each operator on each machine: right, how fast, how near its roof
# make roofline   how near its roof each operator comes, as modelled
# make fuzz   2,000 random operators, 2,000 broken files   make coverage  lines tested
# make tools    what the tests need, in .venv
# make mutants  3,000 programs with one mistake each: --check reports every one
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto
PROGRAMS ?= 2000

.PHONY: demo test tools lint bench calibrate corpus roofline fuzz mutants coverage clean

demo: $(VENV)/.installed
	@mkdir -p build/demo
	$(BIN)/pyptoc @grouped_matmul_swiglu_quant --case=given --run \
	  -o build/demo/program.mlir

test: lint
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal test
	$(BIN)/lit -q --param mode=process test/driver

tools: $(VENV)/.installed-for-tests

lint: $(VENV)/.installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright -p . --pythonpath $(BIN)/python --level error

bench: $(VENV)/.installed-for-tests
	$(BIN)/python test/benchmarks/bench.py

corpus: $(VENV)/.installed-for-tests
	$(BIN)/python test/benchmarks/corpus.py --markdown=docs/corpus.md

roofline: $(VENV)/.installed-for-tests
	$(BIN)/python test/benchmarks/roofline.py

calibrate: $(VENV)/.installed-for-tests
	$(BIN)/python test/benchmarks/calibrate.py

fuzz: $(VENV)/.installed-for-tests
	$(BIN)/python test/fuzz.py --programs=$(PROGRAMS)
	$(BIN)/python test/bad_input.py --files=$(PROGRAMS)

mutants: $(VENV)/.installed-for-tests
	$(BIN)/python test/mutants.py

coverage: $(VENV)/.installed-for-tests
	$(BIN)/pip install -q -e '.[coverage]'
	$(BIN)/coverage run -m pytest -q test
	$(BIN)/coverage report

clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -e .
	@touch $@

$(VENV)/.installed-for-tests: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -e '.[test]'
	@touch $@ $(VENV)/.installed
