#!/usr/bin/env bash
# Runs the tests of the sandbox under kernels this machine does not run: Debian's
# cloud kernels, in plain emulation. Kernels and busybox come from Debian's
# archive and are kept in the cache. Written for Debian and Ubuntu; root installs
# qemu where it is missing.
#
# usage: run.sh [SUITE/ARCH...]
set -euo pipefail
shopt -s inherit_errexit

cd "$(dirname "$0")/../.."
cache=${RALPH_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ralph-ci}/kernels
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
(($#)) || set -- bullseye/amd64 bookworm/amd64 bookworm/arm64 trixie/amd64 trixie/arm64
mkdir -p "$cache"
work=$(mktemp -d "$cache/.run.XXXXXX")
trap 'rm -rf "$work"' EXIT

root() { if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi; }

install_qemu() {
  command -v qemu-system-x86_64 >/dev/null && command -v qemu-system-aarch64 >/dev/null && command -v cpio >/dev/null && [[ -s $keys ]] && return
  root timeout 300 apt-get update -qq
  root timeout 600 env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    qemu-system-x86 qemu-system-arm ipxe-qemu seabios cpio debian-archive-keyring </dev/null >/dev/null
}

# fetch SUITE ARCH: vmlinuz and busybox in the cache. apt checks them against
# Debian's keys.
fetch() {
  local suite=$1 arch=$2 dir=$cache/$1-$2 get=$work/$1-$2 package
  [[ -s $dir/vmlinuz && -s $dir/busybox && -s $dir/overlay.ko ]] && return
  mkdir -p "$get"/{lists/partial,cache/archives/partial,root}
  echo "deb [arch=$arch signed-by=$keys] $mirror $suite main" >"$get/sources"
  local options=(-qq -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::Etc::SourceList=$get/sources"
    -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$get/lists" -o "Dir::Cache=$get/cache" -o APT::Sandbox::User="$(id -un)")
  timeout 300 apt-get "${options[@]}" update
  package=$(apt-cache "${options[@]}" depends "linux-image-cloud-$arch" | sed -n 's/.*Depends: //p' | head -n 1)
  (cd "$get" && timeout 600 apt-get "${options[@]}" download "$package" busybox-static >/dev/null)
  for package in "$get"/*.deb; do dpkg-deb -x "$package" "$get/root"; done
  mkdir -p "$dir"
  find "$get/root" -path '*/bin/busybox' -type f -exec cp {} "$dir/busybox" \;
  find "$get/root" -name 'overlay.ko*' -exec cp {} "$dir" \;
  [[ ! -e $dir/overlay.ko.xz ]] || xz -df "$dir/overlay.ko.xz"
  cp "$get"/root/boot/vmlinuz-* "$dir/vmlinuz.new"
  mv "$dir/vmlinuz.new" "$dir/vmlinuz"
}

# image ARCH SUITE: an initramfs with the tests.
image() {
  local arch=$1 dir=$work/image-$2-$1
  mkdir -p "$dir"/{bin,etc}
  cp "$cache/$2-$1/busybox" "$dir/bin/busybox"
  cp "$cache/$2-$1/overlay.ko" e2e/kernels/init "$dir/"
  chmod 755 "$dir"/{init,bin/busybox}
  printf 'root:x:0:0::/root:/bin/sh\nrunner:x:1001:1001::/home/runner:/bin/sh\n' >"$dir/etc/passwd"
  printf 'root:x:0:\nrunner:x:1001:\n' >"$dir/etc/group"
  cp "$work"/tests-"$arch"/* "$dir/"
  (cd "$dir" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir.gz"
}

tests() { # ARCH
  local package
  [[ -d $work/tests-$1 ]] && return
  mkdir "$work/tests-$1"
  for package in confine proc namespace; do
    CGO_ENABLED=0 GOOS=linux GOARCH=$1 go test -c -ldflags '-s -w' -o "$work/tests-$1/$package.test" "./internal/sandbox/$package"
  done
}

boot() { # SUITE ARCH
  local machine
  case $2 in
    # cmpxchg16b of qemu 7.2 spoils the flags, and Linux 6.12 with them.
    amd64) machine=(qemu-system-x86_64 -cpu max,cx16=off -append "console=ttyS0 quiet loglevel=1 panic=-1 lsm=landlock,yama") ;;
    arm64) machine=(qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -append "console=ttyAMA0 quiet loglevel=1 panic=-1 lsm=landlock,yama") ;;
  esac
  timeout 600 "${machine[@]}" -accel tcg -m 2000 -nographic -no-reboot -net none \
    -kernel "$cache/$1-$2/vmlinuz" -initrd "$work/image-$1-$2.gz" </dev/null 2>&1 | tr -d '\r'
}

install_qemu
failed=()
for target in "$@"; do
  suite=${target%/*} arch=${target#*/}
  printf '== %s (%ds)\n' "$target" "$SECONDS"
  fetch "$suite" "$arch"
  tests "$arch"
  image "$arch" "$suite"
  boot "$suite" "$arch" >"$work/log" || true
  sed -n '/^KERNEL/,$p' "$work/log"
  # A machine that stopped half way has no DONE.
  if ! grep -qx DONE "$work/log" || grep -Eq '^FAIL|--- SKIP' "$work/log"; then
    failed+=("$target")
    grep -q '^KERNEL' "$work/log" || tail -n 30 "$work/log"
  fi
done
if ((${#failed[@]})); then
  echo "not as it should be: ${failed[*]}"
  exit 1
fi
