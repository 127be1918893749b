set -eu
say() { echo "== $*"; }
work=$PWD/out
mkdir -p "$work"
export GIT_TERMINAL_PROMPT=0

say "commit, branch, merge, rebase, stash"
git init -q -b main "$work/a"
cd "$work/a"
echo one >file && git add file && git commit -q -m one
git switch -q -c side && echo side >side && git add side && git commit -q -m side
git switch -q main && echo two >>file && git commit -q -am two
git merge -q --no-edit side
git switch -q side && echo more >more && git add more && git commit -q -m more
git rebase -q main && git log --oneline | grep -q more
echo changed >>file && git stash -q && git stash pop -q && git commit -q -am changed
GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i main
git switch -q -c picked main~1 && git cherry-pick --allow-empty side >/dev/null && git switch -q side
git tag -a v1 -m v1 && git describe --tags >/dev/null
git bisect start HEAD HEAD~1 >/dev/null && git bisect reset >/dev/null 2>&1
git gc -q && git fsck --no-progress

say "worktrees, submodules, hooks"
git worktree add -q "$work/tree" main && git -C "$work/tree" status --porcelain && git worktree remove "$work/tree"
git init -q --bare "$work/module.git"
git push -q "$work/module.git" HEAD:refs/heads/main
git -C "$work/module.git" symbolic-ref HEAD refs/heads/main
git -c protocol.file.allow=always submodule --quiet add "$work/module.git" module && git commit -q -m module
git -c protocol.file.allow=always submodule --quiet update --init --remote
printf '#!/bin/sh\necho hooked >>"%s/hooked"\n' "$work" >.git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
git commit -q --allow-empty -m hooked && grep -q hooked "$work/hooked"

say "clone and fetch by HTTP, through the proxy"
git clone -q "$PACKAGES/git/library.git" "$work/library"
git -C "$work/library" fetch -q origin && grep -q library "$work/library/README.md"
git clone -q --depth 1 --single-branch "$PACKAGES/git/library.git" "$work/shallow"
git -c protocol.version=0 ls-remote "$PACKAGES/git/library.git" >/dev/null
for url in http://refused.test/git/library.git https://refused.test/git/library.git; do
	if git clone -q "$url" "$work/refused" 2>"$work/why"; then
		echo "$url was cloned"
		exit 1
	fi
	grep 403 "$work/why"
done

say "large files"
git lfs install --local >/dev/null && git lfs track '*.bin' >/dev/null
head -c 100000 /dev/urandom >large.bin && git add .gitattributes large.bin && git commit -q -m large
git show HEAD:large.bin | grep -q git-lfs

say "the repository that is worked on"
cd "$work/.."
git status --porcelain >/dev/null && git log -1 --format=%s && git diff --stat HEAD
