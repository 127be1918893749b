#!/bin/bash -p
# Starts ralph in the container. bash, because dash drops environment names
# with hyphens and every input of an action has one (INPUT_MAX-ITERATIONS);
# -p, so that BASH_ENV and functions in the environment are not run; exec, so
# that nothing stays in front of ralph with the secrets in its /proc/PID/environ.
set -euo pipefail

if [[ $0 == */post-entrypoint.sh ]]; then # this file by the name of the step after the others
  set -- post
elif (($# == 0)); then
  if [[ ${GITHUB_ACTIONS-} == true ]]; then
    set -- action
  else
    set -- --help
  fi
fi
exec ralph "$@"
