# gatesworn: `make demo` shows what it does, `make test` proves it.
GO ?= go
TOOL = $(GO) tool -modfile=tools/go.mod
FUZZTIME ?= 10s

.PHONY: all build demo test race lint cross fuzz bench e2e tidy

all: build test

build:
	CGO_ENABLED=0 $(GO) build -ldflags '-s -w' -o bin/gatesworn ./cmd/gatesworn

# Copies demo/GATES.md to a scratch repository and checks it there; ends well
# when every state was shown (check itself ends in status 1, as it should).
demo: build
	sh demo/run.sh bin/gatesworn

test:
	$(GO) test ./...

race:
	sh .ci/cover

lint:
	@test -z "$$($(TOOL) gofumpt -l cmd action ghreport gates approval internal)" || { $(TOOL) gofumpt -d cmd action ghreport gates approval internal; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(GO) mod tidy -diff

cross:
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

fuzz:
	bash .ci/fuzz $(FUZZTIME)

bench: build
	sh .ci/bench bin/gatesworn

e2e:
	bash .ci/e2e

tidy:
	$(GO) mod tidy
