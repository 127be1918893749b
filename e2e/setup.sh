#!/usr/bin/env bash
# Installs what the end-to-end tests need and the machine lacks: a Docker
# engine, the Dockerfile's base images, a look-alike of a runner, Gitea and act.
# Nothing is done twice; what was built is kept in the cache. Written for Debian
# 12 and Ubuntu.
#
# Where no registry can be reached, images of the same names are made from
# debootstrap, this machine's Go, and npm's copy of Node's official binary.
set -euo pipefail
shopt -s inherit_errexit

cd "$(dirname "$0")/.."
cache=${RALPH_E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ralph-ci}
gitea_version=v1.26.0
act_version=v0.2.89
mkdir -p "$cache/bin"
work=$(mktemp -d "$cache/.setup.XXXXXX")
trap 'rm -rf "$work"' EXIT

say() { printf 'e2e/setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
root() { if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi; }

packages() {
  local want=("$@")
  say "installing ${want[*]}"
  root timeout 300 apt-get update -qq
  root timeout 600 env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${want[@]}" </dev/null >"$work/apt.log" 2>&1 ||
    { tail -20 "$work/apt.log" >&2; die "apt-get install ${want[*]} went wrong"; }
}

missing_packages() {
  local want=()
  have docker && { have dockerd || docker info >/dev/null 2>&1; } || want+=(docker.io iptables)
  have git || want+=(git)
  have git-lfs || want+=(git-lfs)
  have node && have npm || want+=(nodejs npm)
  /usr/bin/python3 -m pytest --version >/dev/null 2>&1 || want+=(python3-pytest)
  ((${#want[@]} == 0)) || packages "${want[@]}"
  have go || die "Go is missing: install the version of go.mod"
}

# start_docker leaves the engine's pid in $cache/dockerd.pid when it started it,
# for the one who wants to end it.
start_docker() {
  docker info >/dev/null 2>&1 && return
  ((EUID == 0)) || die "no Docker engine answers; start one, or run as root"
  rm -f "$cache/dockerd.pid"
  # An engine that was killed leaves its number behind, which another process
  # may have by now: dockerd would take that one for itself and refuse to start.
  local left
  for left in /run/docker.pid /var/run/docker.pid /run/docker/containerd/containerd.pid; do
    if [[ -s $left && $(cat "/proc/$(<"$left")/comm" 2>/dev/null) != @(dockerd|containerd) ]]; then
      rm -f "$left"
    fi
  done
  say "starting dockerd"
  setsid dockerd >"$cache/dockerd.log" 2>&1 </dev/null &
  echo $! >"$cache/dockerd.pid"
  for _ in $(seq 120); do
    docker info >/dev/null 2>&1 && return
    sleep 0.5
  done
  tail -20 "$cache/dockerd.log" >&2
  die "dockerd did not start"
}

# arg NAME: the default of an ARG in the Dockerfile.
arg() { sed -n "s/^ARG $1=//p" Dockerfile | head -n 1; }

# base: a root file system as debian:*-slim has it, with the certificates this
# machine trusts, so that a build behind a proxy of its own can talk TLS.
base() {
  local out=$cache/base-$(dpkg --print-architecture).tar root=$work/root
  if [[ ! -s $out ]]; then
    have debootstrap || packages debootstrap
    say "making a Debian root with debootstrap"
    root timeout 600 debootstrap --variant=minbase bookworm "$root" >"$work/debootstrap.log" 2>&1 ||
      { tail -20 "$work/debootstrap.log" >&2; die "debootstrap went wrong"; }
    root sh -c "rm -rf '$root'/var/cache/apt/* '$root'/var/lib/apt/lists/* '$root'/var/log/* \
      '$root'/usr/share/doc/* '$root'/usr/share/man/* '$root'/usr/share/locale/* '$root'/usr/share/info/*
      mkdir -p '$root/etc/ssl/certs' && cp -L /etc/ssl/certs/ca-certificates.crt '$root/etc/ssl/certs/'
      tar -C '$root' -c . > '$out.new'"
    root rm -rf "$root"
    mv "$out.new" "$out"
  fi
  printf '%s' "$out"
}

# stack DIR IMAGE [LINE...]: IMAGE from the Debian image, DIR on top, and lines
# of a Dockerfile.
stack() {
  local dir=$1 image=$2
  shift 2
  { printf 'FROM %s\nCOPY . /\n' "$(arg BASE_IMAGE)"; printf '%s\n' "$@"; } >"$work/Dockerfile"
  timeout 300 docker build -q -t "$image" -f "$work/Dockerfile" "$dir" >/dev/null 2>"$work/build.log" ||
    { cat "$work/build.log" >&2; die "$image could not be made"; }
  rm -rf "$dir"
  say "made a stand-in for $image"
}

# image NAME: there already, or from its registry.
image() {
  docker image inspect "$1" >/dev/null 2>&1 && return
  timeout 180 docker pull -q "$1" >/dev/null 2>&1
}

base_images() {
  local debian go node dir path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  debian=$(arg BASE_IMAGE) go=$(arg GO_IMAGE) node=$(arg NODE_IMAGE)
  if ! image "$debian"; then
    docker import --change "ENV PATH=$path" --change 'CMD ["bash"]' - "$debian" <"$(base)" >/dev/null
    say "made a stand-in for $debian"
  fi
  if ! image "$go"; then
    dir=$work/go
    mkdir -p "$dir/usr/local/go"
    cp -R "$(go env GOROOT)/." "$dir/usr/local/go/"
    rm -rf "$dir/usr/local/go/"{test,api,doc}
    stack "$dir" "$go" "ENV PATH=/usr/local/go/bin:$path" "ENV GOPATH=/go" "WORKDIR /go"
  fi
  if ! image "$node"; then
    dir=$work/node
    local version=${node#*:} cpu
    version=${version%%-*}
    case $(uname -m) in x86_64) cpu=x64 ;; aarch64) cpu=arm64 ;; *) die "no Node for $(uname -m)" ;; esac
    mkdir -p "$dir/usr/local/bin" "$dir/usr/local/lib/node_modules"
    (cd "$work" && timeout 300 npm pack --silent "node-linux-$cpu@$version" "npm@11" >/dev/null 2>&1) || die "npm pack of Node $version went wrong"
    tar -xzf "$work"/node-linux-*.tgz -C "$dir/usr/local/bin" --strip-components 2 package/bin/node
    mkdir "$dir/usr/local/lib/node_modules/npm"
    tar -xzf "$work"/npm-*.tgz -C "$dir/usr/local/lib/node_modules/npm" --strip-components 1
    ln -s ../lib/node_modules/npm/bin/npm-cli.js "$dir/usr/local/bin/npm"
    ln -s ../lib/node_modules/npm/bin/npx-cli.js "$dir/usr/local/bin/npx"
    stack "$dir" "$node" "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt"
  fi
}

# machine: what the tests on the runner itself run on; the engine keeps it.
machine() {
  timeout 600 docker build -q -t ralph-action:e2e-machine --build-arg "NODE_IMAGE=$(arg NODE_IMAGE)" - <e2e/machine.Dockerfile >/dev/null 2>"$work/build.log" ||
    { cat "$work/build.log" >&2; die "the look-alike of a runner could not be made"; }
}

# gitea: its module, built; the folders it reads at run time beside it.
gitea() {
  local out=$cache/gitea-$gitea_version src
  [[ -x $out/gitea ]] && return
  say "building Gitea $gitea_version (some minutes, once)"
  src=$(cd "$work" && GOFLAGS=-mod=mod timeout 600 go mod download -json "code.gitea.io/gitea@$gitea_version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  [[ -d $src ]] || die "the module code.gitea.io/gitea@$gitea_version could not be downloaded"
  cp -R "$src" "$work/gitea-src"
  chmod -R u+w "$work/gitea-src"
  mkdir -p "$work/gitea-out"
  (cd "$work/gitea-src" &&
    timeout 1200 nice go build -ldflags '-s -w' -tags 'sqlite sqlite_unlock_notify' -o "$work/gitea-out/gitea" .) ||
    die "Gitea does not build"
  cp -R "$work/gitea-src/"{options,templates,public} "$work/gitea-out/"
  rm -rf "$out"
  mv "$work/gitea-out" "$out"
  chmod -R a+rX "$out"
}

act() {
  local out=$cache/bin/act-$act_version
  [[ -x $out ]] && return
  say "building act $act_version"
  GOFLAGS=-mod=mod GOBIN=$work timeout 900 nice go install "github.com/nektos/act@$act_version"
  mv "$work/act" "$out"
}

missing_packages
start_docker
base_images
machine
act
gitea
say "ready"
