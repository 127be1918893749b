# `make` lists the targets.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
CREATED  ?= $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
LDFLAGS   = -s -w -X main.version=$(VERSION) -X main.commit=$(REVISION) -X main.built=$(CREATED)

# With the path of the clone in them, packages would be compiled anew in each clone.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

# What is built once and kept: linters here, the parts of e2e in e2e/setup.sh.
CACHE ?= $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/ralph-ci
BIN    = $(CACHE)/bin

GOLANGCI_VERSION   = v2.15.0
ACTIONLINT_VERSION = v1.7.12
GOLANGCI           = $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
ACTIONLINT         = $(BIN)/actionlint-$(ACTIONLINT_VERSION)

# The race detector needs a C compiler, which a machine with Go may lack.
RACE = $(if $(shell command -v "$$($(GO) env CC)" 2>/dev/null),-race)

# Keeps the tests' files in memory where that can be had: less to wait for.
# RAM= leaves them on the disk.
RAM = .ci/ram

IMAGE          ?= ralph-action
IMAGE_ARGS     ?= --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) --build-arg CREATED=$(CREATED)
E2E_IMAGE       = ralph-action:e2e
E2E_TIMEOUT    ?= 40m
E2E_RUN        ?= .
E2E_SKIP       ?=
E2E_TAGS       ?= e2e
REDTEAM_RUN    ?=
KERNELS        ?=
REDTEAM_DIR    ?= $(CURDIR)/dist/redteam
PLATFORMS       = linux/amd64 linux/arm64 darwin/arm64

.DEFAULT_GOAL := help
.PHONY: help build man demo test check race long nightly vet cross lint e2e e2e-image redteam kernels bench image images pulled release-dry fmt clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the binary, as ./ralph
	CGO_ENABLED=0 $(GO) build -ldflags "$(LDFLAGS)" -o ralph ./cmd/ralph

demo: ## the whole pipeline on this machine, with Go and git only
	$(GO) run ./cmd/ralph demo

test: ## all tests but the long ones (Go and git only)
	CGO_ENABLED=0 $(RAM) $(GO) test -vet=off -timeout 20m -shuffle=on -parallel 8 ./...
	CGO_ENABLED=0 $(RAM) $(GO) test -vet=off -timeout 5m -tags landlock4 -run 'Policy|OtherProcesses|Tools|Describe' ./internal/sandbox/confine ./internal/sandbox/proc

check: lint vet cross test ## lint, vet, cross-compile, all tests

# The race detector finds nothing where nothing runs at a time: these packages
# start goroutines, or lock. The scripts of cmd/ralph start thousands of processes,
# each three times as dear under it: nightly.
CONCURRENT = $(shell grep -rlE --include='*.go' --exclude='*_test.go' '^[[:space:]]+go (func|[a-z]+\.[a-z])|\.Go.func|sync\.(Mutex|RWMutex|WaitGroup|Map)|atomic\.[A-Z]|AfterFunc' internal | xargs -n1 dirname | sort -u | sed 's,^,./,') ./internal/repo/... ./internal/ralph

race: ## the packages that start goroutines or lock, with the race detector
	@[ -n "$(RACE)" ] || { echo "the race detector needs a C compiler"; exit 1; }
	GORACE=atexit_sleep_ms=100 $(RAM) $(GO) test -race -vet=off -timeout 20m -shuffle=on -parallel 4 $(CONCURRENT)

# The packages that have files with the tag long.
LONG = $(shell grep -rl --include='*_test.go' '^//go:build long' cmd internal | xargs -n1 dirname | sort -u | sed 's,^,./,')

long: ## the scripts that take long, many runs at once, installations by the real npm (Node.js)
	CGO_ENABLED=0 $(RAM) $(GO) test -vet=off -timeout 15m -tags long -parallel 8 -run 'TestLongScripts|TestRunsAtOnce|TestRealNpm' ./cmd/ralph ./internal/agent/install

nightly: ## the long cases, and everything with the race detector
	@[ -n "$(RACE)" ] || { echo "the race detector needs a C compiler"; exit 1; }
	CGO_ENABLED=0 $(RAM) $(GO) test -vet=off -timeout 25m -tags long -shuffle=on -parallel 8 $(LONG)
	GORACE=atexit_sleep_ms=100 $(RAM) $(GO) test -race -vet=off -timeout 40m -shuffle=on -parallel 4 ./...

# Vet looks at everything here, so that no go test needs to do it once more.
# Without cgo, as the binary is built: vet, cross and test then compile the same
# packages, once.
vet: ## go vet, with every build tag
	CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet -tags e2e ./e2e/...
	CGO_ENABLED=0 $(GO) vet -tags e2e,long ./e2e
	CGO_ENABLED=0 $(GO) vet -tags long $(LONG)
	CGO_ENABLED=0 $(GO) vet -tags ordinary ./internal/inspect

cross: ## the binary for each platform
	@for p in $(PLATFORMS); do \
	  echo "$(GO) build for $$p"; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -ldflags "-s -w" -o /dev/null ./cmd/ralph || exit 1; \
	done

lint: $(GOLANGCI) $(ACTIONLINT) ## gofmt, golangci-lint, actionlint
	@out=$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l); \
	  if [ -n "$$out" ]; then echo "gofmt: run 'make fmt' for"; echo "$$out"; exit 1; fi
	$(GOLANGCI) run --build-tags e2e,long ./...
	$(ACTIONLINT) -color
	dir=$$(mktemp -d) && .ci/workflows $$dir && cd $$dir && $(ACTIONLINT) -color && rm -r $$dir

# BUILT=yes tests images that are there: `make pulled` fetched them.
BUILT ?=
e2e-image:
	e2e/setup.sh
	$(if $(BUILT),,$(MAKE) --no-print-directory image IMAGE=$(E2E_IMAGE) IMAGE_ARGS=)

e2e: e2e-image ## real container, forge and agent CLI; installs what it needs (Debian, root)
	RALPH_E2E_IMAGE=$(E2E_IMAGE) RALPH_E2E_CACHE=$(CACHE) \
	  $(GO) test -tags $(E2E_TAGS) -vet=off -count=1 -timeout $(E2E_TIMEOUT) -parallel 6 -run '$(E2E_RUN)' -skip '$(E2E_SKIP)' -v ./e2e

redteam: ## every attack of docs/internals/redteam.md, for real, in the container (Debian, root)
	e2e/setup.sh
	$(if $(BUILT),,docker build --target slim -t $(E2E_IMAGE)-slim .)
	RALPH_E2E_IMAGE=$(E2E_IMAGE) RALPH_REDTEAM_DIR=$(REDTEAM_DIR) \
	  $(GO) test -tags e2e -vet=off -count=1 -timeout 15m -parallel 4 -run '$(if $(REDTEAM_RUN),TestRedteam/scenarios/$(REDTEAM_RUN),.)' -v ./e2e/redteam

bench: ## measure against the budgets of docs/internals/performance.md
	$(GO) run ./cmd/bench

image: ## the container images: the default one, slim and full
	docker build $(IMAGE_ARGS) --target slim -t $(TAG)-slim .
	docker build $(IMAGE_ARGS) --target full -t $(TAG)-full .
	docker build $(IMAGE_ARGS) -t $(TAG) .
TAG = $(IMAGE)$(if $(findstring :,$(IMAGE)),,:latest)

# As files of docker save: cmd/release writes them to a registry.
images: ## the images of a release, as OUT/claude.tar, OUT/full.tar and OUT/slim.tar
	mkdir -p $(OUT)
	$(MAKE) --no-print-directory image IMAGE=ralph-action:release VERSION=$(VERSION)
	docker save -o $(OUT)/claude.tar ralph-action:release
	docker save -o $(OUT)/full.tar ralph-action:release-full
	docker save -o $(OUT)/slim.tar ralph-action:release-slim
OUT ?= dist/images

pulled: ## images of a registry, CLAUDE, FULL and SLIM, as those that e2e and redteam test with BUILT=yes
	docker pull $(CLAUDE) && docker tag $(CLAUDE) $(E2E_IMAGE)
	docker pull $(FULL) && docker tag $(FULL) $(E2E_IMAGE)-full
	docker pull $(SLIM) && docker tag $(SLIM) $(E2E_IMAGE)-slim

release-dry: ## a whole release, to a registry on this machine; leaves dist/release (Go, git, Docker, libdeflate-tools)
	rm -rf dist/release dist/images
	$(MAKE) --no-print-directory images
	$(GO) run ./cmd/release dry -out dist/release dist/images/claude.tar dist/images/full.tar dist/images/slim.tar

kernels: ## the tests of the sandbox under other kernels, emulated; KERNELS="bookworm/arm64 …" (Debian, root)
	e2e/kernels/run.sh $(KERNELS)

man: ## the man page, as dist/ralph.1: a release's archives take it from there
	mkdir -p dist
	$(GO) run -ldflags "$(LDFLAGS)" ./cmd/ralph man > dist/ralph.1

fmt: ## gofmt everything
	gofmt -w cmd e2e internal

clean: ## remove what was built here (the cache of `make e2e` stays)
	rm -rf ralph dist bench
	$(GO) clean -testcache

$(GOLANGCI):
	$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION),golangci-lint)

$(ACTIONLINT):
	$(call install,github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION),actionlint)

# Installed beside its name and moved, so that an interrupted run leaves nothing
# that looks finished.
define install
	mkdir -p $(BIN)
	tmp=$$(mktemp -d $(BIN)/.new.XXXXXX) && GOFLAGS=-mod=mod GOBIN=$$tmp $(GO) install $(1) && mv $$tmp/$(2) $@ && rmdir $$tmp
endef
