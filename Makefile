# One virtual environment in .venv, made on first use from the hash-locked requirements.
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
WEB := $(VENV)/.web
SECONDS ?=
MEMBERS ?=
CHAINS ?= 30
SEED ?= 1
SCHEDULES ?= 5000
MINUTES ?= 10
CLUSTERS ?= one,two,connected
STATEMENTS ?= 300
ORDERS ?= 200000
MEASURES ?=
BEFORE ?=
KEYS ?=
SHORT ?=
UNTIL ?=
# Only the tests that this seed draws, and of these none that would begin after that time (tests/drawing.py).
DRAW = $(if $(SHORT),--draw=$(SHORT)) $(if $(UNTIL),--until=$(UNTIL))
# Processes, each with a Spark session. The tests of a file stay together, for what they share. They wait for other
# processes half of the time, so that two cores are enough for three; the whole systems of the slow tests get more of a core.
WORKERS ?= 3
test-long test-postgres: WORKERS = 2
# `make test` draws by the commit, unless WHOLE=1.
COMMIT = $(shell git rev-parse --short HEAD 2>/dev/null || echo none)
WHOLE ?=
test: DRAW = $(if $(WHOLE),,--draw=$(or $(SHORT),$(COMMIT)))
SPREAD = -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# What holds with a store in PostgreSQL, too.
ON_POSTGRES := tests/contract tests/unit/store tests/postgres tests/spark/sinks/test_postgres.py tests/spark/sources/test_postgres.py tests/e2e/test_postgres_source.py
# What needs a broker that asks nobody to sign in: on a small one in the tiers, on Apache Kafka in `make test-kafka`.
ON_KAFKA := $(addprefix tests/spark/sources/test_kafka,.py _backlog.py _places.py _avro.py _protobuf.py _debezium.py _sizes.py) tests/spark/sinks/test_kafka.py tests/spark/sinks/test_kafka_avro.py tests/spark/adopting/test_offsets.py tests/spark/adopting/test_sources.py tests/e2e/test_kafka.py tests/e2e/test_kafka_operations.py
# Markers of the tiers (CONTRIBUTING.md): what CI runs after `make test`, and what has a target of its own alone.
LONG := rules or long
APART := matrix or hosts or members or page or kubernetes
# Servers, runs and Spark's Python workers start by the thousand in the tests: each would compile what it imports anew where this is set.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install docs dist demo story story-page dashboard story-kafka test-kafka test test-fast test-long compatibility support-matrix stage-chains soak fuzz test-security chaos simulation test-postgres test-hosts test-members web test-web kubernetes-rig tutorial test-kubernetes \
	bench bench-beside bench-peers bench-topics lint lock pictures clean

help:
	@echo "make install            the virtual environment .venv; every other target makes it, too"
	@echo "make demo [SECONDS=60] [MEMBERS=2] [KAFKA=1]  the fleet example: simulators, ingest job, live counts; on members; through Kafka"
	@echo "make story              the update of a running job, step by step, with checks; then once more in a browser"
	@echo "make story-page         the second half alone; its pictures are those of docs/page.md"
	@echo "make dashboard          the picture of the dashboard in docs/metrics.md, with what a real Prometheus has"
	@echo "make story-kafka [ORDERS=200000] [SEED=1]  a job on Kafka is killed and changed; PostgreSQL, Delta and Kafka are exact"
	@echo "make test [WHOLE=1]     the tests, of Spark's a quarter and of the doors' half;  make test-fast: the pure layers, in seconds"
	@echo "make test-long [SHORT=1]  ten kills, updates, a former release's data, every stateful stage and rule"
	@echo "make compatibility      of these, the table of stages and rules: version 2 goes on from version 1"
	@echo "make support-matrix     Spark's own operators x changes; writes docs/support-matrix.md"
	@echo "make stage-chains       every stage behind every other x changes; writes docs/stage-chains.md"
	@echo "make soak [CHAINS=30] [SEED=1]  random chains of versions, and stories of failures, against plain Python"
	@echo "make fuzz [MINUTES=10] [SEED=1]  random requests to the REST API; no error of the server, nothing unreadable afterwards"
	@echo "make test-security [MINUTES=10] [SEED=1]  every door attacked as every role and as another user of the machine; then at random"
	@echo "make simulation [SCHEDULES=5000]  random schedules of crashes of control plane and runs, without a JVM"
	@echo "make chaos [MINUTES=10] [SEED=1] [CLUSTERS=one,two,connected]  clusters, jobs, a broker, a database, an object store, and all that can go wrong"
	@echo "make test-kafka         the tests of Kafka on Apache Kafka instead of a small broker"
	@echo "make test-postgres [SHORT=1]  the store's tests with PostgreSQL, installed by apt if there is none"
	@echo "make test-members       jobs follow the members of a cluster; its short form is the story in test-long"
	@echo "make test-hosts         members on several hosts, made of network namespaces, whose wires are cut; needs root"
	@echo "make web                the page, built anew from web/;  make test-web [SHORT=1]: that it is, and every screen in Chromium"
	@echo "make kubernetes-rig     a real Kubernetes for tests, built once;  make test-kubernetes [SHORT=1]: the tests on it; needs root"
	@echo "make tutorial           the tutorial of docs/kubernetes.md on it, with the real kubectl: each answer is compared; needs root"
	@echo "make bench [MEASURES="sliding million"]  measure; writes benchmarks/results.json"
	@echo "make bench-peers [KEYS=1000000]  a keyed aggregate beside Spark by hand, Flink and Jet; needs a JDK"
	@echo "make bench-topics       topics to windows to a topic and to PostgreSQL, beside Spark by hand and Flink; needs a JDK"
	@echo "make bench-beside BEFORE=FOLDER [MEASURES=...]  this checkout and another one, measured in turns"
	@echo "make pictures           what is written from code: pages in docs, and the kinds that Kubernetes learns"
	@echo "make docs               the documentation as a site in build/site, which a server shows at /docs; a link to nowhere is an error"
	@echo "make dist               wheel and source distribution in dist, with bills of materials (CycloneDX); each build of a commit is the same"
	@echo "make lint               ruff, mypy, import-linter, hadolint"

docs: $(STAMP)
	@scripts/docs $(VENV)

dist: docs
	@scripts/dist $(VENV)

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml scripts/install
	@scripts/install $(VENV)
	@touch $(STAMP)

$(WEB): $(STAMP) requirements-web.lock web/package-lock.json scripts/web-tools
	@scripts/web-tools $(VENV)
	@touch $(WEB)

demo: $(STAMP)
	@cd examples/fleet && exec ../../$(PY) demo.py $(if $(SECONDS),--seconds $(SECONDS)) $(if $(MEMBERS),--members $(MEMBERS)) $(if $(KAFKA),--kafka)

story: $(STAMP)
	@cd examples/fleet && ../../$(PY) story.py
	@$(MAKE) -s story-page

test-kafka: $(STAMP) classes
	@PITSTOP_BROKER=apache $(PY) -m pytest -n 1 --dist loadfile $(ON_KAFKA) $(DRAW)

story-page: $(WEB)
	@mkdir -p docs/pictures
	@cd examples/fleet && exec ../../$(PY) story_page.py --pictures ../../docs/pictures

dashboard: $(STAMP) docs
	@$(PY) -m tests.deploy.dashboard docs/pictures/dashboard.svg

story-kafka: $(STAMP)
	@scripts/with-postgres $(PY) examples/orders/orders_story.py --orders $(ORDERS) --seed $(SEED)

classes: $(STAMP)
	@JAVA_TOOL_OPTIONS= $(PY) -m pitstop.runner.archiving 2>/dev/null || echo "note: sessions of Spark start from no archive of its classes"

test: $(STAMP) classes
	@$(PY) -m pytest $(SPREAD) -m "not ($(LONG) or $(APART))" $(DRAW)

test-long: $(STAMP) classes
	@$(PY) -m pytest $(SPREAD) -m "($(LONG)) and not ($(APART))" $(DRAW)

support-matrix: $(STAMP)
	@PITSTOP_WRITE_MATRIX=1 $(PY) -m pytest tests/spark/test_matrix.py

stage-chains: $(STAMP)
	@PITSTOP_WRITE_MATRIX=1 $(PY) -m pytest -m matrix tests/spark/test_chains.py

compatibility: $(STAMP)
	@$(PY) -m pytest -m rules

soak: $(STAMP)
	@$(PY) -m tests.soak --chains $(CHAINS) --seed $(SEED)

fuzz: $(STAMP)
	@$(PY) -m tests.fuzz --minutes $(MINUTES) --seed $(SEED)

test-security: $(STAMP) classes
	@PITSTOP_SECURITY_STATEMENTS=$(STATEMENTS) PITSTOP_SECURITY_SEED=$(SEED) $(PY) -m pytest tests/security
	@$(PY) -m tests.security --minutes $(MINUTES) --seed $(SEED)

chaos: $(STAMP)
	@PITSTOP_BROKER=apache scripts/with-postgres $(PY) -m tests.chaos --minutes $(MINUTES) --seed $(SEED) --clusters $(CLUSTERS)

test-fast: $(STAMP)
	@$(PY) -m pytest tests/unit

simulation: $(STAMP)
	@PITSTOP_SCHEDULES=$(SCHEDULES) $(PY) -m pytest tests/simulation

test-postgres: $(STAMP)
	@scripts/with-postgres $(PY) -m pytest $(SPREAD) -k postgres $(if $(SHORT),-m "not long") $(ON_POSTGRES)

test-members: $(STAMP)
	@$(PY) -m pytest -m members

test-hosts: $(STAMP)
	@$(PY) -m pytest -m hosts tests/hosts

web: $(WEB)
	@scripts/web build $(VENV)

test-web: $(WEB)
	@scripts/web check $(VENV)
	@$(PY) -m pytest -m page $(DRAW) tests/page

kubernetes-rig:
	@scripts/kubernetes-rig $(VENV)

tutorial: $(STAMP) kubernetes-rig
	@$(PY) -m tests.kubernetes.tutorial

test-kubernetes: $(STAMP) kubernetes-rig
	@$(PY) -m pytest -rs -m "kubernetes$(if $(SHORT), and not long)" tests/kubernetes

bench: $(WEB)
	@$(PY) benchmarks/run.py $(MEASURES)

bench-peers: $(STAMP)
	@$(PY) benchmarks/peers.py "$$(scripts/peers)" $(KEYS)

bench-topics: $(STAMP) classes
	@peers=$$(scripts/peers) && scripts/with-postgres $(PY) benchmarks/topics.py "$$peers"

bench-beside: $(STAMP)
	@$(PY) benchmarks/beside.py $(BEFORE) $(MEASURES)

lint: $(STAMP)
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/mypy --config-file= --check-untyped-defs --no-strict-optional --ignore-missing-imports benchmarks examples
	@$(VENV)/bin/lint-imports
	@$(VENV)/bin/hadolint deploy/Dockerfile

pictures: $(STAMP)
	@$(PY) -m pitstop.control.picture > docs/job-life.md
	@$(PY) -m pitstop.main.reference docs
	@$(PY) -m pitstop.operator.crds > deploy/kubernetes/crds.yaml
	@$(PY) -m pitstop.operator.crds --chart > deploy/helm/pitstop/templates/crds.yaml

lock:
	@scripts/lock $(VENV)

clean:
	rm -rf $(VENV)
