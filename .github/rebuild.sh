#!/bin/sh
# Proposes a patch release if an image built today has other packages than the
# one that v1 names.
set -eu
git fetch -q --no-tags origin refs/tags/v1
slim=$(git show FETCH_HEAD:release.json | sed -n 's/.*"slim": "\([^"]*\)".*/\1/p')
docker build -q --no-cache --target slim -t rebuilt .
packages() { docker run --rm --user 0 --entrypoint dpkg-query "$1" -W; }
packages "$slim" >/tmp/then
packages rebuilt >/tmp/now
if diff /tmp/then /tmp/now; then
	echo "$slim has the present packages"
	exit 0
fi
version=$(go run ./cmd/release patch)
branch=rebuild-$version
if git ls-remote --exit-code origin "refs/heads/$branch" >/dev/null; then
	echo "$branch is proposed already"
	exit 0
fi
git checkout -q -b "$branch"
git -c user.name=ralph-action -c user.email=noreply@github.com commit -qam "Rebuild as $version"
git push -q origin "$branch"
gh pr create --head "$branch" --title "Rebuild as $version" \
	--body 'Debian has newer packages for the image. Merge this, then run the workflow `release`.'
