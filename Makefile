# make help lists the targets.

GO       ?= go
FUZZTIME ?= 5
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT   ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS  := -s -w -X assetledger/server/version.Version=$(VERSION) -X assetledger/server/version.commit=$(COMMIT)
PROGRAMS := ledger-write ledger-read ledgerctl

.PHONY: help build test check long package clients bench.quick prove.short fmt vet fuzz race poison unit cross demo cluster run bench microbench prove deb dist image vuln clean

help:
	@echo 'make build   three static binaries in bin/, and man pages: man -M bin/man ledgerctl'
	@echo 'make test    formatting, vet and all plain tests, in about three minutes on two cores'
	@echo 'make long    the long forms of the tests that have one (LEDGER_LONG=1)'
	@echo 'make check   everything else that .ci/run requires: the long forms, demo, cross, the race detector, fuzzing, generated clients, bench, prove'
	@echo 'make cross   the three programs, compiled for macOS, FreeBSD and linux/arm64'
	@echo 'make demo    the warehouse scenario on fresh daemons, checked; ends by itself'
	@echo 'make cluster three etcds and two hosts simulated on this machine: one writer is killed, and the other takes over; needs etcd'
	@echo 'make run     a whole ledger on the default ports with ./ledger-data, until Ctrl-C'
	@echo 'make bench   the ledger compared with bare net/http, PostgreSQL, etcd and Redis; table in bench-out/ (BENCH=-quick: a quick run)'
	@echo 'make microbench  Go benchmarks of all hot paths'
	@echo 'make fuzz    every fuzz target for FUZZTIME seconds (default 5)'
	@echo 'make prove   killed daemons, power cuts, failing syncs and full disks, the long forms; run as root, otherwise most are skipped'
	@echo 'make deb     a Debian package in bin/; needs dpkg-deb, and no network'
	@echo 'make dist    archives with checksums and bills of materials in dist/: programs for Linux, ledgerctl for macOS'
	@echo 'make image   a container image of the three programs; needs docker'
	@echo 'make vuln    known vulnerabilities in the dependencies of the programs; needs the network'
	@echo 'make clean   remove bin/, dist/, demo-data/ and bench-out/'

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ $(PROGRAMS:%=./cmd/%)
	@rm -rf bin/man && mkdir -p bin/man/man1 && bin/ledgerctl __man > bin/man/man1/ledgerctl.1
	@mkdir -p bin/man/man8 && cp docs/man/*.8 bin/man/man8/

# The plain tests come last, so that their closing lines are the last output.
test: fmt vet unit

# What .ci/run runs besides make test. The bench runs only to show that it still works;
# its figures mean nothing. prove.short tests real processes and, as root, the kernel's
# own disks, file systems and networks.
check: demo cross long race poison fuzz package clients vuln bench.quick prove.short

# Builds the programs, archives and package of one commit twice, and compares the results.
package:
	LEDGER_PACKAGE=1 $(GO) test -count=1 -timeout 10m -run '^TestReproducible' -v ./server/systemtest

clients:
	LEDGER_OPENAPI=1 $(GO) test -count=1 -timeout 15m -run '^TestOpenAPIClients' -v ./server/systemtest

bench.quick:
	$(GO) run ./server/bench -quick -install=false

prove.short:
	LEDGER_PROVE=short $(GO) test -count=1 -timeout 10m -run '^TestProve' -v ./server/systemtest

# longtest.Tests lists the tests that have a long form.
long:
	LEDGER_LONG=1 $(GO) test -timeout 20m -parallel 4 -run "$$(sed -n 's/^const Tests = `\(.*\)`$$/\1/p' server/servertest/longtest/longtest.go)" \
		$$(grep -rl --include='*_test.go' 'longtest\.Form' . | xargs -n1 dirname | sort -u)

fmt:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...

fuzz:
	@.ci/fuzz $(FUZZTIME)

# The race detector makes the test of the model ten times slower; -short gives that test
# a tenth of the work, and skips tests of built programs and browsers, which the
# detector can't see into.
race:
	@if command -v "$$($(GO) env CC)" >/dev/null; then set -x; LEDGER_LONG=1 CGO_ENABLED=1 $(GO) test -race -short -timeout 30m ./...; \
	else echo 'race detector skipped: it needs a C compiler'; fi

# Pooled buffers are overwritten when they are released, so that code that still uses
# one fails its test. The second run tests the code for processors that the assembly does
# not support.
poison:
	LEDGER_LONG=1 $(GO) test -tags poison -short -timeout 10m ./server/httpserver ./server/writer ./server/reader ./server/sim
	$(GO) test -tags purego -run Prefetch ./ledger

# Most tests wait more than they compute, hence -p. The package that takes longest comes
# first, so that the others run meanwhile, two at a time. make test has already run vet.
unit:
	$(GO) test -vet=off -timeout 20m -p 3 ./server/systemtest ./...

# docs/ops.md lists what is supported on other systems.
cross:
	@for target in darwin/amd64 darwin/arm64 freebsd/amd64 linux/arm64; do \
		echo "$$target"; \
		export GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0; \
		$(GO) build -trimpath -o /dev/null ./cmd/... && $(GO) vet ./cmd/... ./ledger/... ./wal/... || exit 1; \
	done

demo: build
	@.ci/demo

cluster: build
	@.ci/cluster

run: build
	@bin/ledgerctl dev

bench:
	$(GO) run ./server/bench $(BENCH)

microbench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# The short forms are part of make check.
prove:
	LEDGER_PROVE=long $(GO) test -count=1 -timeout 70m -run '^TestProve' -v ./server/systemtest

# The same commit gives the same bytes, in any folder.
deb: build
	@.ci/deb '$(VERSION)' bin/asset-ledger_amd64.deb

image:
	docker build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t asset-ledger:$(VERSION) -t asset-ledger .

dist:
	@.ci/dist '$(VERSION)' '$(COMMIT)' dist

vuln:
	@.ci/vuln

clean:
	rm -rf bin demo-data bench-out dist
