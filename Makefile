# Every target works from nothing: it makes .venv first, with uv, which is fetched by pip where the machine has none.
UV_VERSION := 0.13.9
UV := $(shell command -v uv 2>/dev/null || echo .venv-tools/bin/uv)
PY := .venv/bin/python
READY := .venv/.ready

CLIENT_VERSION := 1.18.33
CLIENT := .local/client/node_modules/.bin/opencode

# What serve opens (default: opencode's own database, else bundled samples); more options for pytest; its processes.
SERVE ?=
ARGS ?=
JOBS ?= 2

.PHONY: help setup run test test-postgres check lint format bench e2e client browser lock clean

help:
	@echo "make run      open the dashboard (SERVE='PATH...' opens these)"
	@echo "make test     checks and tests          make lint     checks and layout alone"
	@echo "make e2e      all of it, with the real client and a browser"
	@echo "make bench    figures of speed          make format   lay out the code"
	@echo "make setup    the environment alone     make lock     pin the newest versions that fit"

setup: $(READY)

.venv-tools/bin/uv:
	python3 -m venv .venv-tools
	.venv-tools/bin/pip install --quiet uv==$(UV_VERSION)

$(READY): requirements-dev.lock pyproject.toml .python-version $(filter .venv-tools/%,$(UV))
	test -x $(PY) || $(UV) venv --quiet .venv
	$(UV) pip sync --quiet --compile-bytecode --python $(PY) --require-hashes requirements-dev.lock
	$(UV) pip install --quiet --python $(PY) --no-deps --no-build-isolation --editable .
	touch $(READY)

run: setup
	.venv/bin/suture serve $(SERVE)

test: check
	$(PY) -m pytest -n $(JOBS) $(ARGS)

# The tests that reach the database, once more on PostgreSQL; SUTURE_DATABASE_URL names an empty one.
test-postgres: setup
	@test -n "$(SUTURE_DATABASE_URL)" || { echo "set SUTURE_DATABASE_URL=postgresql://user@host/name" >&2; exit 2; }
	$(PY) -m pytest -n $(JOBS) -m "django_db and not e2e and not client" $(ARGS)

check: setup
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

lint: check
	.venv/bin/ruff format --check .
	find templates -name '*.html' -print0 | xargs -0 -r .venv/bin/djade --check

format: setup
	.venv/bin/ruff check --fix-only --quiet .
	.venv/bin/ruff format .
	find templates -name '*.html' -print0 | xargs -0 -r .venv/bin/djade || true

bench: setup
	$(PY) -m bench

e2e: setup client browser
	SUTURE_E2E=all $(PY) -m pytest -n $(JOBS) -m "e2e or client" $(ARGS)

# The real opencode, in a private folder. Its one install script puts the machine's own program in place; newer npm leaves it out.
client: $(CLIENT)

$(CLIENT):
	npm install --prefix .local/client --no-save --no-fund --no-audit --ignore-scripts opencode-ai@$(CLIENT_VERSION)
	cd .local/client/node_modules/opencode-ai && node postinstall.mjs
	$(CLIENT) --version

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
