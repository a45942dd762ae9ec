SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(or $(shell git describe --tags --match 'v*' --dirty 2>/dev/null),v0.0.0-$(or $(shell git rev-parse --short HEAD 2>/dev/null),unknown))
LDFLAGS := -s -w -X github.com/akash-net/kubectl-akash-net/plugin/version.Version=$(VERSION)
FUZZTIME ?= 30s
SOAK ?= 10m
BENCH ?= .
# The database of govulncheck that a Go module brings.
VULNDB = file://$(shell cd hack/testbed/vulncheck && go mod download golang.org/x/vulndb && go list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv

# Programs, tests and the linter compile with the flags of a release, so that each package is compiled once.
export CGO_ENABLED ?= 0
export GOFLAGS := $(shell go env GOFLAGS) -trimpath
# Memory for processor time: a tenth less of it for compilers, tests and API servers.
export GOGC ?= 400

TESTBED := go run ./hack/testbed/cmd/testbed
LINT := lint="$$($(TESTBED) path golangci-lint)" && "$$lint" run ./... && cd test/apart && "$$lint" run ./...
# goreleaser with the programs that it runs. It signs and pushes only where it is told with which key, and that it may.
GORELEASER = PATH="$(CURDIR)/.cache/bin:$$PATH" goreleaser release --clean --skip=$(if $(GPG_KEY),,sign,)$(if $(IMAGE),,docker,)announce
# The packages in which things run at once. The race detector, which needs a C compiler, watches them, and of the simulation sixteen leases
# at once and 50 histories.
RACE := ./engine/observed ./lease/parallel ./apply ./apply/cluster ./apply/execute ./apply/executor ./apply/turn ./apply/ledger ./apply/book ./apply/leaselogs ./apply/live ./apply/command ./reconcile/...
RACESIM := -run 'TestHistories$$|TestSixteenLeasesAtOnce' ./test/sim -histories 50
RACEFLAG := $(shell command -v "$$(go env CC)" >/dev/null && echo -race)

# Tests of whole programs wait for one another and for the API server, so more of them run than there are processors. The times of a run are
# kept for test-times.
TIMES := .cache/test-times.json
BINARIES := $(CURDIR)/.cache/test
TESTFLAGS := -json -vet=off -p 2 -parallel 8
GOTEST := AKASH_NET_BIN="$(BINARIES)" go test $(TESTFLAGS)
# Tests that need modules of their own are a module: who imports or scans the programs does not get those.
TESTAPART := AKASH_NET_BIN="$(BINARIES)" go -C test/apart test $(TESTFLAGS)
RECORD := "$(BINARIES)/testtimes" -file $(TIMES)

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## build the plugin into bin/, with its reconciler and the link that completion needs
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/kubectl-akash_net ./cmd/akash-net-reconciler
	@ln -sf kubectl-akash_net bin/kubectl_complete-akash_net

.PHONY: testbed
testbed: ## build what all tests and the demo run: a control plane, MetalLB, kubectl (new and old), krew, kustomize, flux, Argo CD (once, about 20 minutes)
	@$(TESTBED) build etcd kubernetes oldest metallb krew kustomize flux argocd

.PHONY: programs
programs:
	@$(TESTBED) build etcd kubernetes metallb lint krew
	@go build -ldflags '$(LDFLAGS)' -o "$(BINARIES)/" ./cmd/... ./hack/testtimes
	@ln -sf kubectl-akash_net "$(BINARIES)/kubectl_complete-akash_net"
	@rm -f $(TIMES)

# The packages that use a control plane which they do not kill. They share one, and so run one after another.
SUITES = grep -rlE 'harness\.Main\(|testbed\.Join' --include '*_test.go' test | xargs grep -L 'Own: true' | xargs -n 1 dirname | sort -u | sed "s|^|$$(go list -m)/|"

.PHONY: test
test: programs ## lint, then the tests: unit, golden files, scripts, and end to end on a real control plane; builds that at first
	@status=0; race="$$(go list $(RACE))"; suites="$$($(SUITES))"; \
	echo "go test, the packages that share a control plane, one after another"; \
	$(TESTBED) share make --no-print-directory suites & shared=$$!; \
	renice -n 19 $$$$ >/dev/null; \
	echo "golangci-lint run ./..."; ($(LINT)) || status=1; \
	echo "go test, all other packages that the race detector does not watch"; \
	$(GOTEST) -timeout 15m $$(go list ./... | grep -vxF "$$race"$$'\n'"$$suites") | $(RECORD) || status=1; \
	$(TESTAPART) -timeout 15m $$(cd test/apart && go list ./... | grep -vxF "$$suites") | $(RECORD) || status=1; \
	echo "go test $(RACEFLAG)"; \
	CGO_ENABLED=1 $(GOTEST) $(RACEFLAG) -timeout 15m $$race | $(RECORD) || status=1; \
	CGO_ENABLED=1 $(GOTEST) $(RACEFLAG) -timeout 15m $(RACESIM) | $(RECORD) || status=1; \
	echo "go test, the benchmarks at their smallest sizes"; $(GOTEST) -timeout 5m -run '^$$' -bench . -benchtime 1x ./bench -smallest | $(RECORD) || status=1; \
	wait $$shared || status=1; \
	exit $$status

# What testbed share runs.
.PHONY: suites
suites:
	@status=0; suites="$$($(SUITES))"; \
	$(GOTEST) -p 1 -parallel 12 -timeout 15m $$(grep -v /test/apart/ <<<"$$suites") | $(RECORD) || status=1; \
	$(TESTAPART) -p 1 -parallel 12 -timeout 15m $$(grep /test/apart/ <<<"$$suites") | $(RECORD) || status=1; \
	exit $$status

.PHONY: test-times
test-times: ## the ten slowest packages and tests of the last make test; fails where a package took more than two minutes
	@go run ./hack/testtimes -file $(TIMES) -slowest

.PHONY: test-long
test-long: testbed programs ## what make test tries a sample of, in full: all crash points, torn reads, histories, rules of the guard, releases that are reproducible (hours)
	@status=0; \
	LONG=1 CGO_ENABLED=1 $(GOTEST) $(RACEFLAG) -timeout 4h ./... | $(RECORD) || status=1; \
	LONG=1 LEDGER_OPERATIONS=5000 CGO_ENABLED=1 $(TESTAPART) $(RACEFLAG) -timeout 4h ./... | $(RECORD) || status=1; \
	$(GOTEST) -timeout 2h -run TestInterleavings ./engine -exhaustive | $(RECORD) || status=1; \
	exit $$status

.PHONY: lint
lint: ## check the code with golangci-lint (built from its module once, about 2 minutes)
	@$(TESTBED) build lint
	@$(LINT)

.PHONY: soak
soak: testbed ## leave the ledger to many tenants and kills for SOAK (10m), half of it beside Akash's operators, audit it, repair it; figures in .cache/soak.md
	SOAK=$(SOAK) SOAK_RESULTS="$(CURDIR)/.cache/soak.md" \
	go test -count 1 -timeout 4h -v -run TestSoak ./test/soak
	SOAK=$(SOAK) go test -count 1 -timeout 4h -v -run TestSoak ./test/akash

.PHONY: test-traffic
test-traffic: ## real requests through rendered routes; as root, with iproute2; builds Traefik once, 5 minutes
	@$(TESTBED) build etcd kubernetes traefik
	TRAFFIC=1 go test -count=1 -timeout 20m -v ./test/traffic

.PHONY: test-page
test-page: testbed ## look at the reconciler's page in headless Chromium (apt-get install chromium); UPDATE=1 writes docs/images
	@command -v chromium >/dev/null || { echo "chromium is missing: apt-get install chromium" >&2; exit 1; }
	LONG=1 go -C test/apart test -count=1 -timeout 10m -v ./page $(if $(UPDATE),-update)

.PHONY: generate
generate: ## write the licences (THIRD_PARTY_LICENSES), from the schema config.yaml, and the help of all commands into .cache/reference.md
	go test ./manifests -run 'TestConfigIsOfTheSchema' -update
	@mkdir -p .cache
	go test ./plugin -run TestReference -reference "$(CURDIR)/.cache/reference.md"
	go -C test/apart test ./modules -run TestLicences -update

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (30s); KEEP=N keeps the N shortest inputs that reached new code in testdata/fuzz
	@grep -l '^func Fuzz' $$(git ls-files '*_test.go') | xargs -n 1 dirname | sort -u | while read -r folder; do \
		package="$$(go list "./$$folder")"; \
		go test -list '^Fuzz' "$$package" </dev/null | grep '^Fuzz' | while read -r target; do \
			echo "$$package $$target, $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "$$package" </dev/null; \
			found="$$(go env GOCACHE)/fuzz/$$package/$$target"; \
			[ -z "$(KEEP)" ] || [ ! -d "$$found" ] || { mkdir -p "$$folder/testdata/fuzz/$$target"; \
				ls -Sr "$$found" | sed -n '1,$(KEEP)p' | while read -r input; do cp "$$found/$$input" "$$folder/testdata/fuzz/$$target/"; done; }; \
		done; \
	done

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what the programs call, with govulncheck; VULNDB= asks its database on the net
	@$(TESTBED) build vulncheck
	"$$($(TESTBED) path govulncheck)" $(if $(VULNDB),-db $(VULNDB)) ./cmd/...

.PHONY: bench
bench: build ## compare with helm, kustomize, kubectl and flux on the same inputs, in one run, and write bench/RESULTS.md; BENCH=Render chooses, and writes nothing
	@$(TESTBED) build etcd kubernetes metallb kustomize flux helm
	go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 2h ./bench $(if $(filter .,$(BENCH)),-record .)

.PHONY: demo
demo: build ## two tenants on a local control plane that goes on running; CLUSTER=current: on kubectl's, after a question
	@CLUSTER="$(CLUSTER)" YES="$(YES)" hack/demo/demo.sh

.PHONY: demo-down
demo-down: ## end the demo's control plane and remove its data
	@$(TESTBED) down

.PHONY: image
image: ## build the container image of a release, the same bytes on every machine (VERSION=v1.2.3; needs docker with buildx)
	@rm -rf dist/image
	for arch in amd64 arm64; do \
		GOOS=linux GOARCH=$$arch CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' \
			-o dist/image/linux/$$arch/ ./cmd/kubectl-akash_net ./cmd/akash-net-reconciler; \
	done
	cp --parents LICENSE THIRD_PARTY_LICENSES manifests/argocd/plugin.yaml dist/image
	SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct)" docker buildx build --platform linux/amd64,linux/arm64 --provenance=false \
	--output type=oci,rewrite-timestamp=true,dest=dist/image.tar --tag akash-net/kubectl-akash-net:$(VERSION) -f Dockerfile dist/image

.PHONY: release
release: ## publish the tag that is checked out, with goreleaser; GPG_KEY=NAME signs the checksums, IMAGE=1 pushes the image
	@$(TESTBED) build goreleaser cyclonedx
	@awk '/^## /{on = $$0 == "## $(VERSION)"} on' CHANGELOG.md >.cache/release-notes.md
	@[ -s .cache/release-notes.md ] || { echo "CHANGELOG.md has no heading \"## $(VERSION)\"" >&2; exit 1; }
	$(GORELEASER) --release-notes .cache/release-notes.md
	cp dist/krew/akash-net.yaml krew.yaml

# Signed with a key of its own.
.PHONY: test-release
test-release: export GPG_KEY = test-release
test-release: export GNUPGHOME = $(CURDIR)/.cache/release/keys
test-release: ## make a release of the last commit twice, compare, and install from it; publishes nothing (half an hour)
	@$(TESTBED) build goreleaser cyclonedx kubernetes krew
	.cache/bin/goreleaser check
	rm -rf .cache/release dist
	mkdir -p -m 700 $(GNUPGHOME)
	gpg --batch --quiet --passphrase '' --quick-generate-key $(GPG_KEY)
	for n in 1 2; do git clone -q . .cache/release/$$n; done
	for n in 1 2; do (cd .cache/release/$$n; $(GORELEASER) --snapshot); done
	diff -r -x metadata.json -x artifacts.json -x '*.sig' .cache/release/1/dist .cache/release/2/dist # two say when, one in which order
	mv .cache/release/1/dist dist
	RELEASE="$(CURDIR)/dist" go test -count=1 -v -run TestRelease ./test
	@cat dist/checksums.txt

.PHONY: clean
clean: demo-down ## remove all that make has built
	rm -rf bin dist .cache
