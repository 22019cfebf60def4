# Two commands matter: `make book` and `make test`. Both need only python3 (with venv and pip) and make.
PYTHON ?= python3
SCALE  ?= paper
BIN    := .venv/bin
UV     := $(BIN)/uv pip install -q --compile-bytecode --no-build-isolation
PACKAGES := $(patsubst book/packages/%.txt,_build/packages/%/.ready,$(wildcard book/packages/*.txt))
RELEASED := $(patsubst book/released/pins/%.txt,_build/packages/%/.tried,$(wildcard book/released/pins/*.txt))
HEAVY    := $(patsubst book/released/pins/heavy/%.txt,_build/packages/%/.tried,$(wildcard book/released/pins/heavy/*.txt))

# what a caller says reaches the programs as it was written: simple variables are not expanded again
override NB := $(value NB)
override PARAMS := $(value PARAMS)
override SCALE := $(value SCALE)
ifeq ($(origin JOBS),undefined)
JOBS   := $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
endif
override JOBS := $(value JOBS)
override BENCH := $(value BENCH)
export NB PARAMS SCALE JOBS BENCH

# nor does what a caller set for another Python
unexport PYTHONPATH PYTHONHOME PYTHONSAFEPATH PYTHONOPTIMIZE PYTHONWARNINGS PYTHONSTARTUP
export PYTHONNOUSERSITE = 1

export PYDEVD_DISABLE_FILE_VALIDATION = 1
export OMP_WAIT_POLICY = passive
export OPENBLAS_NUM_THREADS = 1

.DEFAULT_GOAL := help
.PHONY: help book released page reproduce test variants coverage browser bench lab live data links durations expected packages lock clean

help:  ## say what each command does
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

book: .venv/ready packages  ## execute all notebooks and build the book (SCALE=smoke for a first look)
	@$(BIN)/python book/_tools/build.py --scale "$$SCALE" --jobs "$$JOBS"

released: .venv/ready packages $(HEAVY)  ## install the heavy released packages too, and audit every client of that chapter
	@$(BIN)/python book/released/table.py

page: .venv/ready packages  ## run one page with other parameters: NB=ldp_auditor/fig2 PARAMS="k=[2,10]" (and SCALE=smoke)
	@$(BIN)/python book/_tools/page.py --scale "$$SCALE" -- "$$NB" "$$PARAMS"

reproduce:  ## build the last commit twice, in two folders, and compare every file (SCALE=paper for the whole)
	@$(PYTHON) book/_tools/reproduce.py --scale "$(if $(filter file,$(origin SCALE)),smoke,$$SCALE)"

test: .venv/ready packages  ## run the test suite
	$(BIN)/python -m pytest -q -n "$$JOBS" --dist loadgroup --ignore=tests/browser tests

variants: .venv/ready packages  ## run every page with every change of one parameter, and all that it suggests to try
	VARIANTS=all $(BIN)/python -m pytest -q -n "$$JOBS" --dist loadgroup tests/test_variants.py

override CHAOS := $(value CHAOS)
export CHAOS
.PHONY: chaos
chaos: .venv/ready packages  ## kill, damage and misuse everything on purpose (CHAOS="lines --size 0.1": some; SAVE=1: keep the table)
	@cd tests && ../$(BIN)/python -m chaos $(if $(SAVE),--save) $$CHAOS

# numba tells which lines it compiles, if it compiles them: so not from its cache
coverage: .venv/ready packages  ## run the test suite and say which lines of ldpkit it does not reach
	@rm -rf _build/coverage && mkdir -p _build/coverage
	NUMBA_JIT_COVERAGE=1 NUMBA_CACHE_DIR=_build/coverage/numba COVERAGE_FILE=_build/coverage/data \
	  $(BIN)/python -m coverage run -m pytest -q --ignore=tests/browser tests
	@cd _build/coverage && COVERAGE_FILE=data ../../$(BIN)/python -m coverage combine -q --rcfile=../../pyproject.toml
	@COVERAGE_FILE=_build/coverage/data $(BIN)/python -m coverage report

browser: .venv/ready  ## test the built book in Chromium (run `make book` before)
	$(BIN)/python -m pytest -q tests/browser

links: .venv/ready  ## check the links that lead out of the book (needs the network)
	@$(BIN)/jupyter-book build --builder linkcheck --keep-going -q .

bench: .venv/ready _build/bench/venv/.ready  ## measure how long audits take, beside the published way (SAVE=1: for the book)
	$(BIN)/python benchmarks/bench.py $(if $(SAVE),--save) $$BENCH

lab: .venv/ready packages  ## run the built book's cells in the browser, beside JupyterLab (also: make live)
	@$(BIN)/python book/_tools/live.py

live: lab

durations: .venv/ready  ## keep the times of this build as the order in which new checkouts start notebooks
	@cd book/_tools && ../../$(BIN)/python -c "import execute; execute.deliver(execute.Project('../..'))"

expected: .venv/ready  ## keep what this build found as what the builds of others are compared with
	@$(BIN)/python book/_tools/expected.py

data: .venv/ready  ## fetch MNIST, Fashion-MNIST and Adult, and check them
	$(BIN)/ldpkit data

packages: $(PACKAGES) $(RELEASED)

# A target `ready` holds what was installed: a new date of its sources alone installs nothing, and a folder without
# it is unfinished and made again from nothing, whenever it was killed.
same = cat $(1) | cmp -s - $@
done = cat $(1) > $@.part && mv $@.part $@

# Each audited package has a folder of its own; uv never touches the book's environment here.
_build/packages/%/.ready: book/packages/%.txt .venv/ready
	@$(call same,$< .venv/pyvenv.cfg) || { set -e; rm -rf $(@D); \
	  $(UV) -p $(BIN)/python --target $(@D) --no-deps --require-hashes -r $<; \
	  $(call done,$< .venv/pyvenv.cfg); }
	@touch $@

# The packages of the chapter on released clients: one that cannot be installed is missed loudly, by its page too. What their
# wheels bring for other systems goes; pages that were made with another release are made again.
define install
@rm -rf $(@D) _build/executed/book/released; mkdir -p $(@D); \
if $(UV) -p $(BIN)/python --target $(@D) --no-deps --require-hashes -r $< 2>$(@D)/.missing; \
then rm $(@D)/.missing; [ $$(uname) != Linux ] || find $(@D) \( -name '*.dll' -o -name '*.dylib' \) -delete; touch $@; \
else { echo "NOT INSTALLED: $*. Its clients are not audited, and the chapter on released clients says so:"; cat $(@D)/.missing; } >&2; fi
endef
_build/packages/%/.tried: book/released/pins/%.txt .venv/ready
	$(install)
_build/packages/%/.tried: book/released/pins/heavy/%.txt .venv/ready
	$(install)

# The published clients of the benchmark need a Python that their versions knew.
_build/bench/venv/.ready: benchmarks/reference.txt .venv/ready
	@$(call same,$<) || { set -e; rm -rf $(@D); $(BIN)/uv venv -q -p ">=3.11,<3.13" $(@D); \
	  $(UV) -p $(@D)/bin/python --require-hashes -r $<; $(call done,$<); }
	@touch $@

.venv/ready: pyproject.toml requirements.lock
	@$(call same,$^) || { set -e; \
	  echo "Installing the environment into .venv"; rm -rf .venv; $(PYTHON) -m venv .venv; \
	  sed -n '/^uv==/,/[^\\]$$/p' requirements.lock >.venv/uv.txt; \
	  $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r .venv/uv.txt; \
	  $(UV) -p $(BIN)/python --require-hashes -r requirements.lock; $(UV) -p $(BIN)/python --no-deps -e .; $(call done,$^); }
	@touch $@

lock: .venv/ready  ## resolve the dependencies again, for Python 3.11 to 3.13, with the check sums of all their files
	$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 --extra dev --generate-hashes --no-header --no-annotate \
	  pyproject.toml -o requirements.lock
	$(BIN)/python book/_tools/supply.py

clean:  ## remove everything that was built and kept, and say what; the environment stays
	@if test -x $(BIN)/ldpkit; then $(BIN)/ldpkit cache --clear; fi
	@if test -d _build; then du -sh _build | sed 's/^/everything built: /; s/$$/ removed/'; fi
	@rm -rf _build
