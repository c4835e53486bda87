# The front door: each target is a few calls of cloud/install.sh, cmake, ctest, mpirun and twinax. `make help` lists them.
.DEFAULT_GOAL := build
.PHONY: build demo test bench report reproduce-rate-limiter format lint clean help

SOURCES = $(shell find include src tests -name '*.hpp' -o -name '*.cpp')
# Two ranks on any number of cores, also in a container whose only user is root.
export OMPI_ALLOW_RUN_AS_ROOT ?= 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM ?= 1
MPIRUN = mpirun --bind-to none --oversubscribe
LIMITER_SWEEPS = rate-limiter rate-limiter-messages rate-limiter-workload rate-limiter-hidden rate-limiter-sharding

build: ## install what building needs (apt), then build build/twinax
	cloud/install.sh run
	cmake --preset release
	cmake --build --preset release

demo: build ## train over emulated InfiniBand and Ethernet, then draw results/demo/report.html
	cloud/demo_text.sh
	$(MPIRUN) -n 2 build/twinax sweep experiments/demo.toml
	build/twinax report results/demo/*.h5 -o results/demo

reproduce-rate-limiter: ## the batch that fits with and without a limiter, and how it scales over Ethernet: draw results/rate-limiter/report.html
	cloud/install.sh run
	cmake --preset release
	cmake --build --preset release --target twinax
	cloud/demo_text.sh
	for sweep in $(LIMITER_SWEEPS); do $(MPIRUN) -n 2 build/twinax sweep experiments/$$sweep.toml || exit 1; done
	build/twinax report $(LIMITER_SWEEPS:%=results/%) -o results/rate-limiter

report: ## draw results/demo/report.html again, from the records that are there
	build/twinax report results/demo/*.h5 -o results/demo

test: ## install what the tests need, then build and run all of them
	cloud/install.sh test
	cmake --preset release
	cmake --build --preset release
	cloud/demo_text.sh
	ctest --preset release

bench: ## the shaper (also against the kernel's), collectives in a node, the ucx transport, steps against their lower bounds, one rank and two against PyTorch; with STRICT=--strict it ends at a missed goal
	cloud/install.sh test
	cmake --preset release
	cmake --build --preset release
	cloud/demo_text.sh
	$(MPIRUN) -n 2 build/tests/shaper_bench
	$(MPIRUN) -n 2 build/tests/node_bench $(STRICT)
	$(MPIRUN) -n 4 build/tests/node_bench $(STRICT)
	python3 tests/peers/scaling.py build/twinax $(STRICT)
	$(MPIRUN) -n 2 build/twinax sweep experiments/demo.toml --out results/bench
	build/twinax report results/bench/*.h5 -o results/bench
	$(or $(TWINAX_PYTHON),/usr/bin/python3) tests/cluster/referee.py build/twinax $(STRICT) || test $$? -eq 77
	$(or $(TWINAX_PYTHON),/usr/bin/python3) tests/cluster/reproduce_wire.py build/twinax || test $$? -eq 77
	python3 tests/peers/compare_ucx.py build/tests/ucx_bench $(STRICT) || test $$? -eq 77
	python3 tests/peers/compare.py build/tests/gpt_bench

format: ## lay out all C++ sources as .clang-format says
	clang-format-14 -i $(SOURCES)

lint: ## check layout, structure, and clang-tidy's rules over src (about 3 minutes on 2 cores)
	clang-format-14 --dry-run -Werror $(SOURCES)
	python3 -B tests/structure/check.py .
	cmake --preset asan
	cmake --build --preset asan --target twinax_git_revision
	run-clang-tidy-14 -quiet -p build-asan '/src/[a-z]+/' >build-asan/tidy.log 2>&1 || { grep -A4 'error:' build-asan/tidy.log; false; }

clean: ## remove all builds and the demo's text; results stay
	rm -rf build build-*

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-23s %s\n", $$1, $$2 }' Makefile
