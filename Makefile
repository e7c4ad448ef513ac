# `make help` lists the targets. .ci/run contains the targets that CI runs.

GO ?= go

# `go run` downloads the tools in these versions, so you do not need to install them.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# The nested modules of the workspace. Their dependencies stay out of the library's go.mod.
NESTED := $(shell awk '/^\t\.\// {print $$1}' go.work)

# These targets use the dependency versions of go.mod, which hosts get. The workspace would use the
# newest versions that any of its modules requires.
quick test test-race test-long test-workshop lint bench fuzz: export GOWORK := off

# The packages with tests that kill servers, run browsers or need Node. All others are the library.
WORKSHOP := /internal/lab/

# The race detector needs a C compiler. Without one, the tests run without the race detector.
RACE := $(if $(shell command -v cc || command -v gcc || command -v clang),-race)

# FUZZTIME is a number of executions (1000000x) and not a duration, because Go 1.26 sometimes fails a
# target when its time ends, even without a finding (go.dev/issue/75804).
FUZZTIME  ?= 1000000x
BENCHTIME ?= 1s

# Coverage guides the fuzz targets, but all dependencies must be compiled for it (two minutes of CPU time).
GUIDANCE ?= -fuzz .

.PHONY: help quick test test-all test-race test-long test-lab test-browser test-workshop test-nested test-modes test-random test-network test-skew test-postgres clients lint vulnerabilities tidy bench bench-river bench-outage bench-submit bench-hotpaths spreadsheet e2e fuzz mutants soak cluster

# WITH_POSTGRES runs a command with the PostgreSQL server of FORMSVC_TEST_DATABASE_URL. If this is empty,
# it starts a temporary server. On Debian and Ubuntu, it installs missing PostgreSQL packages first, as
# root or with sudo.
WITH_POSTGRES := $(GO) run ./internal/lab/pgtest/with

## help: list the targets
help:
	@awk '/^## / { sub(/^## /, ""); at = match($$0, /^[a-z0-9-]+: /) ? RLENGTH : 0; \
		printf "%-16s %s\n", at ? substr($$0, 1, at - 2) : "", substr($$0, at + 1) }' $(firstword $(MAKEFILE_LIST))

# The folders of the packages with functions of a kind (Fuzz, Benchmark). Go compiles no others.
FOLDERS = $$(grep -ls '^func $(1)' $$($(GO) list -f '{{.Dir}}/*_test.go' ./...) | xargs -n1 dirname | sort -u)

# The packages of the library and its examples.
LIBRARY = $$($(GO) list ./... | grep -v $(WORKSHOP))

## quick: for development (a minute): vet, and the short tests without a database
quick:
	$(GO) vet ./...
	FORMSVC_TEST_NO_DATABASE=1 $(GO) test -short $(LIBRARY)

## test: before a pull request (four minutes): vet, and the short tests of the library and its examples,
## with a real PostgreSQL
test:
	$(GO) vet ./...
	@# The slowest package is first, so that the others run in parallel.
	@# examples/auth is a module of its own, because it uses a library for mail.
	$(WITH_POSTGRES) -- sh -ec '$(GO) test -vet=off -short ./storage/postgres $(LIBRARY); cd examples/auth; GOWORK= $(GO) test -short .'

## test-all: all tests, nearly all with the race detector, and test-lab. These targets run longer tests: test-modes,
## test-random, test-network, test-skew, test-postgres, mutants, fuzz, contract,
## e2e, clients, spreadsheet, soak, cluster
test-all: test-race test-long test-lab

RACE_FLAGS ?= -timeout 20m
test-race:
	$(GO) vet ./...
	@if [ -z "$(RACE)" ]; then echo "no C compiler: without the race detector (apt-get install gcc libc6-dev)"; fi
	@# The slowest package is first, so that the others run in parallel.
	$(WITH_POSTGRES) -- sh -ec '$(GO) test -vet=off $(RACE) $(RACE_FLAGS) -skip "$(LONG)" ./storage/postgres $$($(GO) list ./... | grep -v -E "$(WORKSHOP)|$(SERIAL)|$(PAGES)"); \
		$(GO) test -vet=off $(RACE) -short $$($(GO) list ./... | grep -E "$(PAGES)"); \
		$(GO) test -vet=off -timeout 20m $$($(GO) list ./... | grep -E "$(SERIAL)|$(PAGES)")'

# Tests take five times as long with the race detector. Packages answers and scheduler share nothing between goroutines,
# and internal/servicetest runs the conformance suite with the race detector. Form pages and the builder run without it,
# because their tests of costs measure allocated memory, and with it and -short.
SERIAL := /(internal/answers|internal/scheduler|handler/conformance)$$
PAGES  := /handler/(formpage|builder)$$

# These tests take minutes and need no race detector: the storage suite on partitioned tables, because the store's Go
# code is the same as on other tables, and the import of 5,000 submissions, because shorter imports run with it.
LONG := ^(TestPartitionsSQL|TestOldSubmissionsMove)$$

test-long:
	$(WITH_POSTGRES) -- $(GO) test -vet=off -run '$(LONG)' -timeout 20m ./storage/postgres ./internal/servicetest

## test-lab: the tests of internal/lab and of the nested modules: a short load test, form pages in a
## browser, code generators for the API description. Tests without their programs are skipped
test-lab:
	@# The longest ones start first.
	$(WITH_POSTGRES) -- $(MAKE) --no-print-directory -j2 test-browser test-workshop test-nested

test-workshop:
	$(GO) test -vet=off $(RACE) -timeout 20m $$($(GO) list ./... | grep $(WORKSHOP))

# These tests wait for browsers and processes, so they run in parallel with the others.
test-browser:
	cd internal/lab/e2e && $(GO) test -short -timeout 20m ./...

test-nested:
	@set -e; for dir in $(filter-out ./internal/lab/e2e,$(NESTED)); do (cd $$dir && $(GO) test -short -timeout 20m ./...); done

# The Debian packages of the programs that some tests use.
CLIENT_PROGRAMS := nginx-light python3 nodejs redis-server

## clients: test the service with nginx as a proxy, Python and Node as clients, and Redis for rate limits.
## Installs missing Debian packages (CLIENT_PROGRAMS) as root or with sudo. Other targets skip these tests
## if a program is missing
clients:
	@for program in nginx python3 node redis-server; do command -v $$program >/dev/null || missing=1; done; \
	if [ -n "$$missing" ]; then \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $(CLIENT_PROGRAMS); \
	fi
	FORMSVC_TEST_REQUIRE_CLIENTS=1 $(GO) test -count=1 -run 'RealClients' ./internal/servicetest
	cd internal/lab/redistest && FORMSVC_TEST_REQUIRE_CLIENTS=1 $(GO) test -count=1 ./...

## spreadsheet: open exports in LibreOffice and Python's csv module. Both must read the same cells and run
## no formula. Installs libreoffice-calc and python3 from Debian if one is missing
spreadsheet:
	@command -v soffice >/dev/null && command -v python3 >/dev/null || { \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends libreoffice-calc python3; \
	}
	FORMSVC_TEST_SPREADSHEET=1 $(GO) test -count=1 -run 'CSVInPrograms' ./internal/servicetest

## test-modes: the storage suite in every query mode of pgx, with and without PgBouncer
test-modes:
	FORMSVC_TEST_MODES=all $(WITH_POSTGRES) -- $(GO) test -count=1 -run 'TestStorage$$' -timeout 30m ./storage/postgres

## test-postgres: the storage tests on PostgreSQL 16, 17 and 18 (POSTGRES). test-all uses the machine's own
## version. npm provides the servers, for x64 and arm64
POSTGRES ?= 16 17 18
POSTGRES_TESTS ?= -timeout 30m ./storage/postgres/...
test-postgres:
	@set -e; for version in $(POSTGRES); do \
		programs=$$(internal/lab/pgtest/servers/programs $$version); \
		echo "PostgreSQL $$version"; \
		FORMSVC_TEST_DATABASE_URL= FORMSVC_TEST_POSTGRES_BIN=$$programs $(WITH_POSTGRES) -- $(GO) test -count=1 $(POSTGRES_TESTS); \
	done

## test-random: many (REQUESTS) random operations with all APIs and storages, random malicious requests,
## racing submissions, and random forms compared with a naive implementation
REQUESTS ?= 20000
test-random:
	FORMSVC_STEPS=$(REQUESTS) FORMSVC_REQUESTS=$(REQUESTS) $(WITH_POSTGRES) -- $(GO) test -count=1 -timeout 30m \
		-run 'BothStoragesAgree|ClientAgreesWithHTTP|HostileRequests|RacedSubmissions' ./internal/servicetest
	$(GO) test -count=1 -timeout 30m -run 'Naive|Warnings' ./internal/answers -random-forms $(REQUESTS)

## test-network: check timeouts with networks that drop packets, a clock that is set back, and an old
## snapshot (takes minutes). Installs libfaketime from Debian if it is missing
test-network:
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || { \
		sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
		$$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends libfaketime; \
	}
	FORMSVC_TEST_NETWORK=full $(WITH_POSTGRES) -- $(GO) test -count=1 -run 'TestNetwork' -v -timeout 30m ./internal/servicetest

## test-skew: query plans with 2 million submissions to one form (needs 2 GB of disk, takes minutes)
test-skew:
	FORMSVC_TEST_SKEW=full $(WITH_POSTGRES) -- $(GO) test -run TestListsWhereOneCustomerOwnsEverything -v -timeout 30m ./storage/postgres

## cluster: three hosts on three PostgreSQL servers with Patroni (internal/lab/cluster). Causes FAULTS failures
## (20 take six minutes) and checks that no acknowledged change is lost. Needs root or user namespaces. Installs
## patroni, etcd, pgbouncer, haproxy and redis-server from Debian if one is missing
FAULTS ?= 20
cluster:
	$(GO) run -C internal/lab/cluster . -faults $(FAULTS)

## lint: formatting, static analysis, unchanged results of make tidy, limits on lines of code, plain English
## (needs a C compiler)
lint:
	$(GO) run ./internal/lab/release tidy -check
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	@# golangci-lint contains staticcheck.
	$(GO) run $(GOLANGCI_LINT) run ./...
	.ci/lines -check
	.ci/prose

## vulnerabilities: known vulnerabilities in code that the library calls, including Go (needs vuln.go.dev)
vulnerabilities:
	GOWORK=off $(GO) run $(GOVULNCHECK) ./...

## tidy: update go.mod and go.sum of every module, as described in internal/docs/release.md
tidy:
	$(GO) run ./internal/lab/release tidy

## bench: all benchmarks, with allocations and comparisons with simpler code
bench:
	$(WITH_POSTGRES) -fsync -- $(GO) test -vet=off -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) $(call FOLDERS,Benchmark)

## bench-river: compare deliveries with River and an HTTP worker, on one PostgreSQL
bench-river:
	$(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./river

## bench-outage: healthy webhooks during outages of others (OUTAGES), and next to a workspace with slow
## receivers, on PostgreSQL and in memory
OUTAGES ?= 120-own 400-own-at-once 1000-own-at-once 2000-name 500-new restart alternating 5000-name-100ms
bench-outage:
	@set -e; for name in $(OUTAGES); do \
		$(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./deliveries -outage $$name; \
		$(GO) run -C internal/lab/bench ./deliveries -outage $$name -memory; \
	done
	$(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./deliveries -patient
	$(GO) run -C internal/lab/bench ./deliveries -patient -memory

## bench-submit: the time from Submit to the webhook request, on PostgreSQL and in memory
bench-submit:
	$(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./deliveries -submits 50
	$(GO) run -C internal/lab/bench ./deliveries -submits 50 -memory

## bench-hotpaths: storing submissions, and reading forms and pages over HTTP, compared with minimal handlers
bench-hotpaths:
	set -e; for what in submit form page; do $(WITH_POSTGRES) -fsync -- $(GO) run -C internal/lab/bench ./hotpaths $$what; done

## e2e: form pages and the builder in real browsers, with axe-core checks (needs chromium, firefox-esr and
## Node). Takes long, because it makes two thousand edits and builds 32 forms with the keyboard
e2e:
	cd internal/lab/e2e && npm ci
	cd internal/lab/e2e && FORMSVC_TEST_REQUIRE_BROWSER=1 FORMSVC_E2E=full $(GO) test -count=1 -timeout 60m ./...

## fuzz: every fuzz target for FUZZTIME (defaults to a million executions)
fuzz:
	@set -e; programs=$$(mktemp -d); trap 'rm -r $$programs' EXIT; for folder in $(call FOLDERS,Fuzz); do \
		$(GO) test -c -vet=off $(GUIDANCE) -o $$programs/fuzz $$folder; \
		package=$$($(GO) list $$folder); \
		for target in $$($$programs/fuzz -test.list '^Fuzz'); do \
			echo "$$package $$target"; \
			(cd $$folder && $$programs/fuzz -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZTIME) \
				-test.fuzzcachedir $$($(GO) env GOCACHE)/fuzz/$$package); \
		done; \
	done

## mutants: longer tests of the scheduler: more histories, larger outages, every mutant (takes minutes)
mutants:
	FORMSVC_TEST_SCHEDULER=full $(GO) test -count=1 -timeout 30m -v ./internal/scheduler

## contract: check the API description with linters, generated clients, a proxy and generated requests (needs Node)
contract:
	cd internal/lab/contract && npm ci
	FORMSVC_TEST_REQUIRE_NODE=1 $(WITH_POSTGRES) -- sh -c 'cd internal/lab/contract && $(GO) test -timeout 20m ./...'

## soak: kill the service and the database under load, and kill a process with a local webhook 100 times. Checks that
## nothing is lost
soak:
	$(GO) run ./internal/lab/soak -kills 100 -server-kills 20 -processes 2
	$(WITH_POSTGRES) -- $(GO) test -count=1 -timeout 30m -run TestALocalWebhookOutlivesKills -v ./internal/servicetest -kills 100
