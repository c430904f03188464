# aiflow. What people type:
#
#   make run-next             the main job, on a demo that is made on first use
#   make next REPO=../mine    which request of that repository is next
#   make show                 the latest run, or ARGS=RUN; also: make diff, make logs
#   make resume               go on with the run that stopped
#   make check                quick: vet, format, the tests of what changed
#   make test                 vet, format, staticcheck, tests with -race
#   make test-agents          the real AI commands, also what takes them minutes
#   make figures              how large the code is
#   make install              what is built, below PREFIX (/usr/local); make uninstall
#   make dist                 archives and Debian packages for other machines
#
# ARGS passes more: make next ARGS="--json".

VERSION := 0.1.0
# netgo, osusergo: programs that need no C library run everywhere and start
# a sixth sooner.
TAGS    := urfave_cli_no_docs,netgo,osusergo

GO     ?= go
BUILT  := bin/.built
FOLDERS := cmd internal messages reqmeta locks runs gitops hooks queue project runner doctor server
SOURCE := $(shell find $(FOLDERS) \
	-name node_modules -prune -o -name testdata -prune -o -type f ! -name '*_test.go' ! -name '.*' -print 2>/dev/null | grep -v '[ :]')

# Names the build to the byte: a program of changed sources is not the commit's
# and does not trust its cache (docs/decisions/0003).
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null)
ifneq ($(COMMIT),)
ifneq ($(shell git --no-optional-locks status --porcelain -- go.mod go.sum $(FOLDERS) 2>/dev/null | head -n 1),)
COMMIT := $(COMMIT)-dirty.$(firstword $(shell cat go.mod go.sum $(SOURCE) | cksum))
endif
endif
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# The linker writes through a memory map, which leaves the file in single pages that
# take a tenth longer to start from; a copy does not.
PROGRAMS := $(patsubst cmd/%/main.go,%,$(wildcard cmd/*/main.go))

# A source that is gone, and another Go, are newer than no file: the stamp tells.
# Where there is no Go, as where root installs, what is built stays.
ifneq ($(shell command -v $(GO) 2>/dev/null),)
STAMP := $(firstword $(shell { $(GO) env GOVERSION; echo '$(SOURCE)'; } | cksum))
ifneq ($(STAMP),$(shell cat $(BUILT) 2>/dev/null))
$(shell rm -f $(BUILT))
endif
endif

# The repository to work on; without REPO a demo under .demo/.
DEMO := .demo/repo
ifdef REPO
TARGET := $(REPO)
else
TARGET := $(DEMO)
NEEDED := $(DEMO)/.git/HEAD
endif
AIFLOW = cd '$(subst ','\'',$(TARGET))' && AIFLOW_CALLED_FROM='$(subst ','\'',$(CURDIR))' '$(subst ','\'',$(CURDIR))/bin/aiflow'

.DEFAULT_GOAL := build
.PHONY: install uninstall dist build check test readme figures tidy vet format staticcheck race test-agents bench next run-next list show diff logs resume auto land doctor ui demo demo-agents clean

build: $(BUILT)

$(BUILT): go.mod go.sum Makefile $(SOURCE)
	@mkdir -p bin
	$(GO) build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/.new/ $(addprefix ./cmd/,$(PROGRAMS))
	@cd bin/.new && for f in $(PROGRAMS); do cp $$f ../.$$f && mv ../.$$f ../$$f || exit; done && rm -r ../.new
	@echo $(STAMP) >$@

# DESTDIR is for packagers: what is below it is moved elsewhere later.
PREFIX ?= /usr/local
install: $(BUILT)
uninstall:
install uninstall:
	@scripts/install $@ bin '$(subst ','\'',$(DESTDIR)$(PREFIX))' $(PROGRAMS)

# Archives for other machines, with checksums, and Debian packages, into DIST.
DIST      ?= dist
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
dist: $(BUILT)
	@VERSION='$(VERSION)' AIFLOW='$(CURDIR)/bin/aiflow' GO='$(GO)' TAGS='$(TAGS)' LDFLAGS='$(LDFLAGS)' scripts/dist '$(DIST)' $(PLATFORMS)

test: tidy vet format staticcheck race

# The packages that differ from origin's main branch, or with BASE from another
# commit, and those that import them.
BASE ?= $(firstword $(shell git rev-parse -q --verify origin/main 2>/dev/null) HEAD)
check: build tidy vet format
	@scripts/changed '$(BASE)' | xargs -r $(GO) test -vet=off

# What README shows: a recorded first minute, and the page as chromium paints it.
readme: $(BUILT)
	@scripts/first-minute --write
	@GO='$(GO)' scripts/picture

figures:
	@$(GO) run ./scripts/figures

tidy:
	$(GO) mod tidy -diff

# The checks share what the build has compiled, or in "make test" what the tests need.
VETTED   := ./... ./testdata/agents/models
COMPILED := -trimpath
test: COMPILED := -race
vet:
	$(GO) vet $(COMPILED) -tags '$(TAGS)' $(VETTED)

format:
	@out=$$(find . -name .git -prune -o -name node_modules -prune -o -name .demo -prune -o -name '*.go' -print0 | xargs -0 $(GO) tool gofumpt -l); \
	if [ -n "$$out" ]; then echo "not formatted (go tool gofumpt -w FILE):"; echo "$$out"; exit 1; fi

staticcheck: CHECKER = GOFLAGS="$$($(GO) env GOFLAGS) $(COMPILED)" $$($(GO) tool -n staticcheck)
staticcheck:
	$(CHECKER) -tags '$(TAGS)' $(VETTED)

# A program with the race detector otherwise sleeps a second when it ends, and
# the tests end many.
race: export GORACE = atexit_sleep_ms=0
race: RACE = $(GO) test -race -vet=off -tags '$(TAGS)' -timeout 60m
race:
	$(RACE) ./reqmeta/folder
	$(MEMORY) $(RACE) $$($(GO) list ./... | grep -vx aiflow/reqmeta/folder)

# Tests make and remove many small files, which is cheaper in memory, where it has room
# and lets programs start. The cache of the requests trusts a disk alone.
MEMORY = $(shell grep -qs ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts || df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "TMPDIR=/dev/shm" }')

# No account, no key and no network: models are played (testdata/agents).
test-agents:
	@[ -d testdata/agents/node_modules ] || (cd testdata/agents && npm ci --ignore-scripts --no-audit --no-fund)
	$(GO) test -vet=off -timeout 60m -v ./cmd -run 'TestRealAgents$$' -agents.slow

bench: $(BUILT)
	$(GO) run ./scripts/bench $(ARGS)

next: $(BUILT) $(NEEDED)
	@$(AIFLOW) next $(ARGS)

run-next: $(BUILT) $(NEEDED)
	@$(AIFLOW) run --next $(ARGS)

list: $(BUILT) $(NEEDED)
	@$(AIFLOW) request list $(ARGS)

show: $(BUILT) $(NEEDED)
	@$(AIFLOW) run show $(ARGS)

diff: $(BUILT) $(NEEDED)
	@$(AIFLOW) run diff $(ARGS)

logs: $(BUILT) $(NEEDED)
	@$(AIFLOW) run logs $(ARGS)

resume: $(BUILT) $(NEEDED)
	@$(AIFLOW) run resume $(ARGS)

auto: $(BUILT) $(NEEDED)
	@$(AIFLOW) run auto $(ARGS)

land: $(BUILT) $(NEEDED)
	@$(AIFLOW) land $(or $(ARGS),--all)

doctor: $(BUILT) $(NEEDED)
	@$(AIFLOW) doctor $(ARGS)

ui: $(BUILT) $(NEEDED)
	@$(AIFLOW) serve $(ARGS)

demo: $(BUILT) $(DEMO)/.git/HEAD

$(DEMO)/.git/HEAD:
	@scripts/demo '$(DEMO)'

# A night with a limit, with a played AI command: no account, no network.
demo-agents: $(BUILT)
	@rm -rf .demo/agents
	@scripts/demo-agents .demo/agents
	@cd .demo/agents && PATH='$(CURDIR)/bin':"$$PATH" aiflow run auto

clean:
	rm -rf bin dist .demo .bench
