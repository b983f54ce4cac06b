# make demo   a refresh of the tiny policy with a real vLLM on the CPU, published under build/demo/
# make test   everything CI runs: lint, types, tests
# Both make the environment in .venv/ first and need only Python 3.11+ and make.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test env lint types clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# //p' Makefile | head -3

env: .venv/.ready

.venv/.ready: pyproject.toml scripts/make_env.sh scripts/make_trainers.sh
	PYTHON=$(PYTHON) sh scripts/make_env.sh
	@touch $@

DEMO := $(BIN)/curriculum refresh --config data_samples/tiny_policy/curriculum.toml --limit 300 --out build/demo

demo: env
	$(DEMO) --ckpt step_0
	@cp build/demo/LATEST build/demo/.step_0
	$(DEMO) --ckpt step_2000
	$(BIN)/curriculum diff "$$(cat build/demo/.step_0)" LATEST --out build/demo

test: lint types
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env
	$(BIN)/mypy

clean:
	rm -rf .venv build dist
