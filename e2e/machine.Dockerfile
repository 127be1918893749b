# A look-alike of a runner: its user, who may become root, and the engine's group.
# What lies on it the tests bring.
ARG NODE_IMAGE
FROM ${NODE_IMAGE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates curl git sudo \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 1001 runner && groupadd --gid 118 docker \
 && useradd --uid 1001 --gid runner --groups sudo,docker --create-home --shell /bin/bash runner \
 && echo 'runner ALL=(ALL) NOPASSWD:ALL' >/etc/sudoers.d/runner \
 && install -m 4755 /bin/cat /usr/local/bin/pkexec
