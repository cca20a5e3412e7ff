# Every target works from nothing: it makes .venv first, with uv, which is fetched by pip where the machine has none.
# `make run` installs what running needs (70 MB); everything else installs the tools as well.
UV_VERSION := 0.13.9
UV := $(shell command -v uv 2>/dev/null || echo .venv-tools/bin/uv)
PY := .venv/bin/python
READY := .venv/.ready
READY_TO_RUN = .venv/.ready-to-run$(EXTRAS)

# The client that everything is measured with; CLIENT_VERSION=1.18.34 names another, which gets a folder of its own.
CLIENT_MEASURED := 1.18.33
CLIENT_VERSION := $(CLIENT_MEASURED)
CLIENT_FOLDER := .local/client$(addprefix -,$(filter-out $(CLIENT_MEASURED),$(CLIENT_VERSION)))
CLIENT := $(CLIENT_FOLDER)/node_modules/.bin/opencode
V2_SERVER_VERSION := 1.18.18
# The server of the V2 line is on the registry for this machine alone.
V2_SERVER := $(if $(filter Linux-x86_64,$(shell uname -s)-$(shell uname -m)),.local/server-v2/node_modules/@opencode-ai/cli-linux-x64/bin/lildax)

# Blocks are the tags of web/templatetags/components.py that end with end... .
DJANGOFMT := --line-length 120 --indent-width 2 \
	--custom-blocks partialdef,notice,card,panel,menu,nothing,danger,crumbs,table,post,hinted,tight

# What serve opens (default: opencode's own database, else bundled samples); extras that run installs (providers: the SDKs
# that Probe needs; postgres); more options for pytest; its processes.
SERVE ?=
EXTRAS ?=
ARGS ?=
JOBS ?= 2
PYTEST := $(PY) -m pytest -n $(JOBS) --dist worksteal

.PHONY: help setup setup-run run test test-all test-postgres coverage check lint format bench client browser lock clean

help:
	@echo "make run       open the dashboard (SERVE='PATH...' opens these)"
	@echo "make test      checks and tests, in minutes      make test-all  the rest: all data, fuzz, kills, real client"
	@echo "make lint      checks and layout alone           make format    lay out the code"
	@echo "make bench     figures of speed                  make coverage  both tests, and what they reach"
	@echo "make setup     the environment alone             make lock      pin the newest versions that fit"

setup: $(READY)

setup-run: $(READY_TO_RUN)

.venv-tools/bin/uv:
	@echo "Fetching uv $(UV_VERSION) into .venv-tools"
	@python3 -m venv .venv-tools
	@.venv-tools/bin/pip install --quiet uv==$(UV_VERSION)

# An environment with this checkout in it; a line for each step.
define environment
	@test -x $(PY) || { echo "Making .venv with Python $$(cat .python-version)"; $(UV) venv --quiet .venv; }
	@echo "Installing $(1) into .venv"
endef
INSTALL := pip install --quiet --python $(PY) --build-constraints requirements-dev.lock --editable

$(READY): requirements-dev.lock pyproject.toml setup.py .python-version $(filter .venv-tools/%,$(UV))
	$(call environment,Suture and its tools)
	@$(UV) pip sync --quiet --compile-bytecode --python $(PY) --require-hashes requirements-dev.lock
	@$(UV) $(INSTALL) . --no-deps
	@touch $(READY)

# The tools stay where they are installed already.
$(READY_TO_RUN): requirements.lock pyproject.toml setup.py .python-version $(filter .venv-tools/%,$(UV))
	$(call environment,Suture and what running it needs)
	@$(UV) $(INSTALL) '.$(if $(EXTRAS),[$(EXTRAS)])' --constraints requirements.lock
	@touch $(READY_TO_RUN)

run: setup-run
	@echo "Starting suture serve $(SERVE)"
	@exec .venv/bin/suture serve $(SERVE)

# What a change is likely to break: every test that is quick, a part of the large collections, a browser's journeys.
test: check
	$(PYTEST) -m "not exhaustive" $(ARGS)

# What `make test` leaves out or looks at in part: all goldens and corpus entries, many examples, kills, speed, every page.
test-all: setup client browser
	$(PYTEST) --everything -m "exhaustive or partly" $(ARGS)

coverage: setup client browser
	$(PYTEST) --cov=sessions_app --cov-report= -m "not exhaustive" $(ARGS)
	$(PYTEST) --cov=sessions_app --cov-append --cov-report=term:skip-covered --everything -m "exhaustive or partly" $(ARGS)

# The tests that reach the database, once more on PostgreSQL; SUTURE_DATABASE_URL names an empty one.
test-postgres: setup
	@test -n "$(SUTURE_DATABASE_URL)" || { echo "set SUTURE_DATABASE_URL=postgresql://user@host/name" >&2; exit 2; }
	$(PYTEST) -m "django_db and not e2e and not client and not exhaustive" $(ARGS)

check: setup
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

lint: check
	.venv/bin/ruff format --check .
	.venv/bin/djangofmt $(DJANGOFMT) --check templates
	find templates -name '*.html' -print0 | xargs -0 -r .venv/bin/djade --check

format: setup
	.venv/bin/ruff check --fix-only --quiet .
	.venv/bin/ruff format .
	.venv/bin/djangofmt $(DJANGOFMT) templates
	find templates -name '*.html' -print0 | xargs -0 -r .venv/bin/djade || true

bench: setup
	$(PY) -m bench $(ARGS)

# The real clients, in private folders. V1's one install script puts the machine's own program in place; newer npm leaves it out.
client: $(CLIENT) $(V2_SERVER)

$(CLIENT):
	npm install --prefix $(CLIENT_FOLDER) --no-save --no-fund --no-audit --ignore-scripts opencode-ai@$(CLIENT_VERSION)
	cd $(CLIENT_FOLDER)/node_modules/opencode-ai && node postinstall.mjs
	$(CLIENT) --version

.local/server-v2/%:
	npm install --prefix .local/server-v2 --no-save --no-fund --no-audit --ignore-scripts @opencode-ai/cli-linux-x64@$(V2_SERVER_VERSION)
	.local/server-v2/$* --version

browser:
	@command -v chromium >/dev/null || .ci/packages chromium

lock: $(filter .venv-tools/%,$(UV))
	$(UV) pip compile --quiet --upgrade pyproject.toml --extra postgres --extra providers --universal --python-version 3.13 \
		--generate-hashes --no-emit-index-url --custom-compile-command "make lock" -o requirements.lock
	$(UV) pip compile --quiet --upgrade pyproject.toml --extra postgres --extra providers --group dev --group wire -c requirements.lock \
		--universal --python-version 3.13 --generate-hashes --no-emit-index-url --custom-compile-command "make lock" \
		-o requirements-dev.lock

clean:
	rm -rf .venv .venv-tools .local build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
