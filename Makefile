# Everything a person or CI runs; scripts/ holds what is longer than a line.
.DEFAULT_GOAL := build
CACHE   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/slipway
VENV     = $(CACHE)/venv-$(shell sha256sum .ci/requirements.txt | cut -c1-12)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Google's clients bring gRPC, whose tracing pages use templates, and with those the
# linker can drop no method of any SDK: 45 MB of the CLI.
TAGS     = grpcnotrace
LDFLAGS  = -s -w -X main.version=$(VERSION)
PKGS    ?= ./...
# What must not be skipped: moto always, the shared test data where it lies beside the tree.
REQUIRE ?= moto$(if $(wildcard ../shared/schemas),$(COMMA)shared)
COMMA   := ,

.PHONY: build
build: ## build the programs into bin/
	go build -tags $(TAGS) -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: demo
demo: build ## the main job on the simulated cloud, in a folder of its own
	scripts/demo.sh bin

.PHONY: test
test: venv vet ## all set-up, then all tests; nothing that matters may be skipped
	SLIPWAY_VENV=$(VENV) SLIPWAY_REQUIRE=$(REQUIRE) go test $(FLAGS) -timeout 30m $(PKGS)

.PHONY: race
race: venv ## the packages with concurrency, under the race detector
	SLIPWAY_VENV=$(VENV) go test -race -timeout 30m ./pkg/tasks/... ./pkg/statestore/... ./pkg/sim/...

.PHONY: vet
vet: ## gofmt, go vet, staticcheck
	@test -z "$$(gofmt -l cmd pkg *.go)" || { echo "gofmt would change:"; gofmt -l cmd pkg *.go; exit 1; }
	go vet ./...
	go tool staticcheck ./...

.PHONY: verify
verify: test race demo ## what CI runs

.PHONY: bench
bench: build venv ## calls, time, CPU and memory against the simulated cloud and moto
	SLIPWAY_VENV=$(VENV) go run ./scripts/bench -bin bin

.PHONY: golden
golden: ## rewrite the golden files
	go test ./pkg/model ./pkg/tasks -update

.PHONY: venv
venv: ## the Python judges, outside the tree, by content of their list
	@test -x $(VENV)/bin/moto_server || scripts/venv.sh $(VENV)

.PHONY: help
help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12
