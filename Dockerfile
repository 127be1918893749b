# The images of ralph-action. Three targets that are meant to be used:
#
#   docker build .                  git, git-lfs, Node with npm, Claude Code: the action's own (default)
#   docker build --target full .    codex as well
#   docker build --target slim .    git and ralph, for images that bring their own agent
#
# It builds with and without BuildKit, because `uses: ./` is built by whatever
# engine the runner has.

ARG GO_IMAGE=golang:1.26.8-bookworm
ARG BASE_IMAGE=debian:bookworm-20260824-slim
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
# generated: agents-image
ARG CLAUDE_VERSION=2.1.329
ARG CODEX_VERSION=0.169.0
# /generated

# --- build: the static binary ---------------------------------------------

FROM ${GO_IMAGE} AS build
WORKDIR /src
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
ARG VERSION=dev
ARG REVISION=
ARG CREATED=
RUN go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION} -X main.commit=${REVISION} -X main.built=${CREATED}" -o /out/ralph ./cmd/ralph \
 && /out/ralph version

# --- agents: Node and the CLIs, installed where no leftover can reach the image -----

FROM ${NODE_IMAGE} AS agent
# Node's symbols are 18 MB that only a debugger reads.
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends binutils \
 && strip /usr/local/bin/node && node --version
ARG CLAUDE_VERSION
# npm may be configured not to run install scripts, and then the CLI has no
# native binary: its version is asked for, and the script run by hand if need be.
RUN npm install --global --no-audit --no-fund --no-update-notifier "@anthropic-ai/claude-code@${CLAUDE_VERSION}" \
 && { claude --version >/dev/null 2>&1 || node "$(npm root --global)/@anthropic-ai/claude-code/install.cjs"; } \
 && claude --version | grep -F "${CLAUDE_VERSION}"

FROM ${NODE_IMAGE} AS codex
ARG CODEX_VERSION
# The binary of codex comes as a package for this platform; there is no script.
RUN npm install --global --no-audit --no-fund --no-update-notifier "@openai/codex@${CODEX_VERSION}" \
 && codex --version | grep -F "${CODEX_VERSION}"

# --- slim: git, bash, certificates, ralph ----------------------------------

FROM ${BASE_IMAGE} AS slim
# git's Perl programs, its servers, Perl's library, the programs that need it, and
# the half of brotli that compresses are 62 MB that nothing here calls. dpkg leaves them out, so that its records stay true and
# `apt-get install --reinstall git perl-modules-5.36 libperl5.36` without this
# file brings them back. The package holds git itself twice. What fills variables
# into the messages of git's shell scripts is 2 MB there, and three lines here.
RUN printf 'path-exclude=%s\n' \
      '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' '/usr/share/gitweb/*' \
      '/usr/share/perl/5*' '/usr/share/perl5/*' '/usr/lib/*/libperl.so*' '/usr/lib/*/perl/5*' \
      '/usr/bin/git-shell' '/usr/lib/git-core/git-shell' '/usr/lib/git-core/git-daemon' \
      '/usr/lib/git-core/git-http-backend' '/usr/lib/git-core/git-http-push' '/usr/lib/git-core/git-imap-send' \
      '/usr/lib/git-core/git-http-fetch' '/usr/bin/scalar' '/usr/lib/git-core/scalar' \
      '/usr/lib/git-core/git-instaweb' '/usr/lib/git-core/git-add--interactive' '/usr/lib/git-core/git-sh-i18n--envsubst' \
      '/usr/share/bash-completion/*' '/usr/share/lintian/*' '/usr/lib/*/libbrotlienc.so*' \
      '/usr/bin/corelist' '/usr/bin/cpan*' '/usr/bin/enc2xs' '/usr/bin/encguess' '/usr/bin/h2*' '/usr/bin/instmodsh' \
      '/usr/bin/json_pp' '/usr/bin/libnetcfg' '/usr/bin/perlbug' '/usr/bin/perlivp' '/usr/bin/perlthanks' '/usr/bin/piconv' \
      '/usr/bin/pl2pm' '/usr/bin/pod*' '/usr/bin/prove' '/usr/bin/ptar*' '/usr/bin/shasum' '/usr/bin/splain' \
      '/usr/bin/streamzip' '/usr/bin/xsubpp' '/usr/bin/zipdetails' \
      > /etc/dpkg/dpkg.cfg.d/ralph-slim \
 && apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bash ca-certificates git \
 && rm -rf /etc/dpkg/dpkg.cfg.d/ralph-slim /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/* \
      /var/log/apt /var/log/dpkg.log /var/log/alternatives.log \
 && printf '%s\n' '#!/usr/bin/perl' \
      'if (@ARGV > 1) { print "$1\n" while $ARGV[1] =~ /\$\{?([A-Za-z_]\w*)\}?/g; exit }' \
      'undef $/; $_ = <STDIN>; s/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/$ENV{$1 || $2}/ge; print' \
      > /usr/lib/git-core/git-sh-i18n--envsubst \
 && chmod 755 /usr/lib/git-core/git-sh-i18n--envsubst \
 && test "$(printf 'a $x ${y}b' | x=1 y=2 /usr/lib/git-core/git-sh-i18n--envsubst 'a $x ${y}b')" = 'a 1 2b' \
 && cmp /usr/bin/git /usr/lib/git-core/git && ln -sf ../../bin/git /usr/lib/git-core/git \
 && groupadd --gid 1001 runner \
 && useradd --uid 1001 --gid runner --no-create-home --home-dir /home/runner --shell /bin/bash runner \
 && groupadd --gid 10001 agent \
 && useradd --uid 10001 --gid agent --create-home --home-dir /home/agent --shell /bin/bash agent \
 && git --version
COPY --from=build /out/ralph /usr/local/bin/ralph
COPY entrypoint.sh /entrypoint.sh
COPY entrypoint.sh /post-entrypoint.sh
# auto: what the kernel can restrict, said in the log. strict: all or nothing.
ENV RALPH_ISOLATION=auto
WORKDIR /repo
# The agent never runs as root: ralph drops to the workspace's owner, or to the
# user `agent`. The container starts as root because a runner's files belong to
# a uid that is known only then. There is no init: ralph reaps as PID 1.
USER root
ENTRYPOINT ["/entrypoint.sh"]
ARG VERSION=dev
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="ralph-action" \
      org.opencontainers.image.description="Loops a coding agent until the work is really done" \
      org.opencontainers.image.source="https://github.com/org/ralph-action" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"

# --- claude: slim, Node with npm, Claude Code -------------------------------

FROM slim AS claude
# Debian's package configures the filter for all users.
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends git-lfs \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/* /var/log/apt /var/log/dpkg.log \
 && git lfs version && git config --system filter.lfs.clean
COPY --from=agent /usr/local/bin/node /usr/local/bin/node
COPY --from=agent /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
COPY --from=agent /usr/local/lib/node_modules/@anthropic-ai /usr/local/lib/node_modules/@anthropic-ai
RUN cd /usr/local/bin \
 && ln -s ../lib/node_modules/npm/bin/npm-cli.js npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js npx \
 && ln -s ../lib/node_modules/@anthropic-ai/claude-code/bin/claude.exe claude \
 && node --version && npm --version \
 && su agent -c 'export HOME=/tmp/home && mkdir "$HOME" && claude --version' \
 && rm -rf /root/.npm /root/.cache /tmp/*

# --- full: claude and codex -------------------------------------------------

FROM claude AS full
COPY --from=codex /usr/local/lib/node_modules/@openai /usr/local/lib/node_modules/@openai
RUN ln -s ../lib/node_modules/@openai/codex/bin/codex.js /usr/local/bin/codex \
 && su agent -c 'export HOME=/tmp/home && mkdir "$HOME" && codex --version' \
 && rm -rf /tmp/*

# --- what `uses: ./` gets ---------------------------------------------------

FROM claude
