#!/bin/sh
# Usage: greet.sh [NAME]
# Greets NAME, or the whole world when no name is given.

name=$1

printf 'Hello, %s!\n' "$name"
