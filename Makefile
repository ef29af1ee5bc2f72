# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# A thin front for CMake: the names of common tasks, no build rules.
BUILD  ?= build
PREFIX ?= /usr/local
WERROR ?= OFF
TESTS  ?= ON
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
CONFIG ?=

export USIW_BUILD := $(BUILD)
export USIW_JOBS  := $(JOBS)

.DEFAULT_GOAL := all
.PHONY: all format setup configure demo check check-long apps test pyverbs sanitize
.PHONY: asan tsan fuzz interop coverage cross bench bench-kernel
.PHONY: releases dist deb package-test fresh-test install uninstall clean help
.PHONY: rpm rpm-test abi-check

## all: configure and build everything into build/
all: configure
	cmake --build "$(BUILD)" -j $(JOBS)

## setup: install the Debian packages that are missing (root), or list them
setup:
	scripts/install-deps build test

configure:
	@command -v cmake >/dev/null || { \
		echo "usiw: cmake is missing; 'make setup' installs what" \
		     "the build needs" >&2; exit 1; }
	cmake -S . -B "$(BUILD)" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DCMAKE_INSTALL_PREFIX="$(PREFIX)" -DUSIW_WERROR=$(WERROR) \
		-DUSIW_TESTS=$(TESTS) $(CONFIG)

## demo: set up, build, and run ib_write_bw -R between two processes; fails after
##       USIW_DEMO_LIMIT_S=n seconds (60) without progress
demo:
	scripts/install-deps build demo
	$(MAKE) --no-print-directory configure TESTS=OFF
	cmake --build "$(BUILD)" -j $(JOBS) --target usiw-products
	scripts/demo

## check: set up, build, run all tests, print "N passed, N failed, N skipped"
check:
	scripts/install-deps build test
	$(MAKE) --no-print-directory all
	scripts/check "$(BUILD)"

## check-long: the tests that are slow, large or at random, and not in "make check"
check-long:
	scripts/install-deps build test
	$(MAKE) --no-print-directory all
	scripts/check "$(BUILD)" -C long -L '^long$$'

## apps: servers and their clients over SDP (apache2, PostgreSQL, Node.js, ...), and
##       programs of datagrams (UCX, MPI, ...), with the packages they need; prints a
##       table of what went by SDP, by TCP and by datagrams
apps:
	scripts/install-deps build test apps
	$(MAKE) --no-print-directory all
	scripts/check "$(BUILD)" -C apps -L '^programs$$'; code=$$?; \
	scripts/apps-table "$(BUILD)/Testing/junit.xml" || exit 1; exit $$code

## test: build, and run only the fast tests
test: all
	ctest --test-dir "$(BUILD)" -L fast -j $(JOBS) --output-on-failure

## pyverbs: the tests that use pyverbs, including rdma-core's own suite
pyverbs:
	scripts/install-deps build test
	$(MAKE) --no-print-directory all
	scripts/check "$(BUILD)" -L '^pyverbs$$'

## sanitize: build and test under ASan+UBSan, then under TSan
sanitize: asan tsan

asan:
	scripts/install-deps build test sanitize
	scripts/check-preset asan

tsan:
	scripts/install-deps build test sanitize
	scripts/check-preset tsan

## fuzz: run each libFuzzer target for SECONDS=n seconds (10), with clang
fuzz:
	scripts/install-deps build test fuzz
	cmake --preset fuzz
	cmake --build build-fuzz -j $(JOBS)
	scripts/run-fuzz build-fuzz $(or $(SECONDS),10)

## interop: usiw against the Linux kernel's siw and rdma_rxe in a QEMU guest (QUICK=1, CASES=PATTERN)
interop:
	scripts/install-deps build test
	scripts/install-deps interop || true # the suite skips, and says why
	$(MAKE) --no-print-directory all
	USIW_BUILD_DIR="$(BUILD)" python3 tests/wire/interop/interop.py \
		$(if $(QUICK),--quick) $(if $(CASES),'$(CASES)'); \
	code=$$?; [ $$code = 77 ] || exit $$code

## bench: measure usiw and its peers in turns, on a quiet machine (ROUNDS=n,
##        ROWS=WORD,..., WINDOW=MS); BASE=COMMIT compares with usiw at that commit
bench:
	scripts/install-deps build bench
	$(MAKE) --no-print-directory configure TESTS=OFF
	cmake --build "$(BUILD)" -j $(JOBS) --target usiw-products usiw-bench
	USIW_BUILD_DIR="$(BUILD)" python3 -B bench/bench.py \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ROWS),--rows '$(ROWS)') \
		$(if $(WINDOW),--window $(WINDOW)) $(if $(BASE),--base '$(BASE)') \
		$(if $(OUT),--out '$(OUT)')

## bench-kernel: compare usiw with the Linux kernel's siw and rxe in a QEMU guest; ratios only
##       (ROUNDS=n, ROWS=WORD,...)
bench-kernel:
	scripts/install-deps build bench
	scripts/install-deps interop || true # kernel.py skips, and says why
	$(MAKE) --no-print-directory configure TESTS=OFF
	cmake --build "$(BUILD)" -j $(JOBS) --target usiw-products usiw-bench
	USIW_BUILD_DIR="$(BUILD)" python3 -B bench/kernel.py \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ROWS),--rows '$(ROWS)'); \
	code=$$?; [ $$code = 77 ] || exit $$code

## format: format every C file with clang-format
format:
	python3 tests/meta/check_format.py --fix

## coverage: build with gcov, run the tests, leave the data in build-coverage/
coverage:
	scripts/install-deps build test
	scripts/check-preset coverage

## cross: build for arm64, riscv64 and s390x and run the unit tests there by qemu-user
##        (ARCH="MACHINE...")
cross:
	scripts/install-deps build cross
	scripts/cross $(or $(ARCH),arm64 riscv64 s390x); \
	code=$$?; [ $$code = 77 ] || exit $$code

## releases: the provider on the rdma-core of bookworm, trixie and sid, each built from
##       its source (RELEASES="SUITE DIRECTORY...")
releases:
	scripts/install-deps build test releases
	$(MAKE) --no-print-directory all
	USIW_BUILD_DIR="$(BUILD)" python3 -B tests/providers/releases.py \
		$(RELEASES); code=$$?; [ $$code = 77 ] || exit $$code

## abi-check: compare libusiw0 and libsiw-mpa0 with those of the last release
abi-check:
	scripts/install-deps build test
	$(MAKE) --no-print-directory all
	scripts/abi-check "$(BUILD)"; code=$$?; [ $$code = 77 ] || exit $$code

## dist: make the source archive build/dist/usiw-VERSION.tar.gz, reproducibly
dist:
	@scripts/build-dist

## rpm: build the rpm packages into build/rpm/, with rpmbuild of this machine
rpm:
	scripts/install-deps build rpm
	scripts/build-rpm

## rpm-test: check the rpm packages, use their files in a debootstrap root
##       (RELEASE=trixie), compare their files with those of the Debian packages, and
##       build both kinds from the source archive
rpm-test: rpm deb
	scripts/install-deps root
	tests/install/package/rpm_check.py "$(BUILD)/rpm"
	tests/install/package/compare_lists.py "$(BUILD)/deb" "$(BUILD)/rpm"
	tests/install/package/rpm-in-root "$(BUILD)/rpm" $(RELEASE); \
	code=$$?; [ $$code = 77 ] || exit $$code
	tests/install/package/from-archive "$(BUILD)/deb" "$(BUILD)/rpm"

## deb: build the Debian packages into build/deb/
deb:
	scripts/install-deps build deb
	scripts/build-deb

## package-test: lintian; install, use, upgrade and remove the packages in new roots
##       of Debian 12, 13 and sid (RELEASE=trixie: only that one); the CI job of
##       doc/install.md; debian/tests by autopkgtest
package-test: deb
	scripts/install-deps package
	tests/install/package/lintian-check "$(BUILD)/deb"
	tests/install/package/build-before "$(BUILD)/deb-before" || [ $$? = 77 ]
	for release in $(or $(RELEASE),bookworm trixie sid); do \
		tests/install/package/run-in-root "$(BUILD)/deb" $$release \
			"$(BUILD)/deb-before" || [ $$? = 77 ] || exit 1; done
	tests/install/package/ci-job "$(BUILD)/deb" || [ $$? = 77 ]
	tests/install/package/debian-tests "$(BUILD)/deb" $(RELEASE) || [ $$? = 77 ]

## fresh-test: run "make demo" from a clone in a new debootstrap root (RELEASE=trixie)
fresh-test:
	scripts/install-deps root
	tests/install/clone-in-root $(if $(RELEASE),--release $(RELEASE))

## install: install into $(DESTDIR)$(PREFIX)
install:
	@mkdir -p "$(DESTDIR)$(PREFIX)" 2>/dev/null && \
		test -w "$(DESTDIR)$(PREFIX)" || { \
		echo "usiw: $(DESTDIR)$(PREFIX) cannot be written: choose" \
		     "another directory by PREFIX=, or install as root" >&2; \
		exit 1; }
	$(MAKE) --no-print-directory configure TESTS=OFF
	cmake --build "$(BUILD)" -j $(JOBS) --target usiw-products
	cmake --install "$(BUILD)"

## uninstall: remove what the last install from this build directory has written,
##       and usiw's own directories
uninstall:
	@test -f "$(BUILD)/install_manifest.txt" || { \
		echo "usiw: $(BUILD)/install_manifest.txt is missing: nothing" \
		     "was installed from $(BUILD)" >&2; exit 1; }
	while read -r file || [ -n "$$file" ]; do \
		printf '%s\0' "$(DESTDIR)$$file"; \
		done <"$(BUILD)/install_manifest.txt" | xargs -0 rm -f
	@sed 's,/[^/]*$$,,' "$(BUILD)/install_manifest.txt" | sort -ru | \
	while read -r dir; do \
		while case $$dir in */usiw | */usiw/*) ;; *) false ;; esac && \
			rmdir "$(DESTDIR)$$dir" 2>/dev/null; do \
			dir=$${dir%/*}; done; done

## clean: remove every build directory
clean:
	rm -rf build build-asan build-tsan build-fuzz build-coverage \
		build-release build-cross-*

## help: this list
help:
	@sed -n 's/^## //p' Makefile
