#!/usr/bin/env bash
# Installs what Twinax needs on Debian 12 (or a near relative), as root or through sudo.
#   cloud/install.sh run    compilers, libraries and the demo's text: enough for `make` and `make demo`
#   cloud/install.sh test   the above, and what `make test` needs
#   cloud/install.sh ci     the above, and the compilers, sanitizers and checkers of .ci/run
# Installs only what is missing. Without root and sudo it lists the missing packages and stops with code 1.
set -euo pipefail

run_packages=(
  build-essential cmake ninja-build pkg-config git ca-certificates
  openmpi-bin libopenmpi-dev libucx-dev libhdf5-openmpi-dev
  libdnnl-dev libopenblas-dev libeigen3-dev libsentencepiece-dev
  libtomlplusplus-dev libcli11-dev libfmt-dev libspdlog-dev
  python3-h5py python3-matplotlib python3-numpy
  bible-kjv
)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev python3-torch hdf5-tools procps ucx-utils
  openssh-client openssh-server iproute2 chromium)
ci_packages=(clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev)

level=${1:-}
case "$level" in
  run) wanted=("${run_packages[@]}") ;;
  test) wanted=("${run_packages[@]}" "${test_packages[@]}") ;;
  ci) wanted=("${run_packages[@]}" "${test_packages[@]}" "${ci_packages[@]}") ;;
  *)
    echo "usage: cloud/install.sh run|test|ci (got \"$level\")" >&2
    exit 2
    ;;
esac

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

echo "install: ${#missing[@]} package(s) missing: ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "install: this system has no apt-get; install the packages' equivalents by hand" >&2
  exit 1
fi
if ((EUID == 0)); then
  as_root=(env)
elif command -v sudo >/dev/null; then
  as_root=(sudo env)
else
  echo "install: neither root nor sudo: ask an administrator for: apt-get install ${missing[*]}" >&2
  exit 1
fi
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get update -qq
"${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
