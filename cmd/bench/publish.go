package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	forgeapi "github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/secret"
)

// big, medium and small are the repositories of the last rows.
const (
	big, bigFiles       = "big", 50_000
	medium, mediumFiles = "medium", 10_000
	small, smallFiles   = "small", 200
)

// open makes a repository ready for a run, with a supervised guest.
func (b *bench) open(ctx context.Context, children *proc.Supervisor, dir, name, branch string) (*repo.Repo, func(), error) {
	private, err := os.MkdirTemp(b.dir, "private-")
	if err != nil {
		return nil, nil, err
	}
	done := func() { _ = os.RemoveAll(private) }
	temp, store := filepath.Join(private, "tmp"), filepath.Join(private, "store")
	if err := errors.Join(os.Mkdir(temp, 0o700), os.Mkdir(store, 0o700)); err != nil {
		done()
		return nil, nil, err
	}
	r, err := repo.Open(ctx, repo.Options{
		Dir: dir, Guest: &guest{children: children, dir: dir, env: b.env}, Temp: temp, Store: store,
		Remote: b.forge.remote(name), Token: secret.New(token), Push: true, Branch: branch, DefaultBranch: "main",
		Committer: repo.Identity{Name: "Bench", Email: "bench@example.com"}, Author: repo.Identity{Name: "Bench", Email: "bench@example.com"},
		Message: func(it ralph.Iteration) string { return fmt.Sprintf("ralph: iteration %d\n", it.Number) }, Clock: time.Now,
	})
	if err != nil {
		done()
		return nil, nil, err
	}
	closeAll := func() { _ = r.Close(); done() }
	if err := r.CanPush(ctx); err != nil {
		closeAll()
		return nil, nil, err
	}
	if _, err := r.Begin(ctx); err != nil {
		closeAll()
		return nil, nil, err
	}
	if err := r.Mark(ctx); err != nil {
		closeAll()
		return nil, nil, err
	}
	return r, closeAll, nil
}

// save takes a snapshot and makes a pushed commit of it.
func save(ctx context.Context, r *repo.Repo, round int) error {
	if _, err := r.Snapshot(ctx); err != nil {
		return err
	}
	c, err := r.Checkpoint(ctx, ralph.Iteration{Number: round})
	if err == nil && (!c.Pushed || c.Files != 20) {
		err = fmt.Errorf("the checkpoint holds %d files, pushed: %v %s", c.Files, c.Pushed, c.PushError)
	}
	return err
}

// checkpoint compares one checkpoint of a run with what git does.
func (b *bench) checkpoint(ctx context.Context) ([]row, error) {
	const rounds = 9
	if err := b.seed(ctx, big, bigFiles); err != nil {
		return nil, err
	}
	oursDir, err := b.checkout(ctx, big, "big-ours")
	if err != nil {
		return nil, err
	}
	gitDir, err := b.checkout(ctx, big, "big-git")
	if err != nil {
		return nil, err
	}
	if err := b.git(ctx, gitDir, "checkout", "-q", "-b", "plain"); err != nil {
		return nil, err
	}
	children, err := proc.Start(ctx, proc.Options{SpillDir: b.dir})
	if err != nil {
		return nil, err
	}
	defer func() { _ = children.Close() }()
	r, closeAll, err := b.open(ctx, children, oursDir, big, "ralph/checkpoints")
	if err != nil {
		return nil, err
	}
	defer closeAll()
	round := 0
	ours := func() (float64, error) {
		round++
		if err := change(oursDir, bigFiles, round); err != nil {
			return 0, err
		}
		began := time.Now()
		err := save(ctx, r, round)
		return ms(time.Since(began)), err
	}
	theirs := func() (float64, error) {
		round++
		if err := change(gitDir, bigFiles, round); err != nil {
			return 0, err
		}
		began := time.Now()
		err := b.git(ctx, gitDir, "add", "-A")
		if err == nil {
			err = b.git(ctx, gitDir, "commit", "-q", "-m", "round")
		}
		if err == nil {
			err = b.git(ctx, gitDir, "push", "-q", "origin", "plain")
		}
		return ms(time.Since(began)), err
	}
	if _, _, err := inTurns(1, ours, theirs); err != nil { // makes the branches, and the caches warm
		return nil, err
	}
	a, c, err := inTurns(rounds, ours, theirs)
	if err != nil {
		return nil, err
	}
	git := measured("ms", c)
	return []row{{
		What: "snapshot + checkpoint + push, 50,000 files, 20 changed", Ours: measured("ms", a),
		Comparison: "git add -A && git commit && git push", Theirs: &git, Target: target{AtMost: 1, Ratio: true},
		Note: "The same git http-backend on loopback, with the token of the checkout. The guest's git is a supervised child.",
	}}, nil
}

// publish compares the step that publishes with what create-pull-request does.
func (b *bench) publish(ctx context.Context) ([]row, error) {
	var rows []row
	for _, c := range []struct {
		name   string
		files  int
		rounds int
	}{{small, smallFiles, 9}, {medium, mediumFiles, 7}, {big, bigFiles, 5}} {
		more, err := b.publishRow(ctx, c.name, c.files, c.rounds)
		if err != nil {
			return rows, err
		}
		rows = append(rows, more)
	}
	return rows, nil
}

func (b *bench) publishRow(ctx context.Context, name string, files, rounds int) (row, error) {
	if _, err := os.Stat(filepath.Join(b.forge.dir, owner, name+".git")); err != nil {
		if err := b.seed(ctx, name, files); err != nil {
			return row{}, err
		}
	}
	oursDir, err := b.checkout(ctx, name, name+"-publish")
	if err != nil {
		return row{}, err
	}
	theirDir, err := b.checkout(ctx, name, name+"-cpr")
	if err != nil {
		return row{}, err
	}
	children, err := proc.Start(ctx, proc.Options{SpillDir: b.dir})
	if err != nil {
		return row{}, err
	}
	defer func() { _ = children.Close() }()
	round := 0
	var whole []float64
	ours := func() (float64, error) {
		round++
		step, all, err := b.publishOnce(ctx, children, oursDir, name, files, round)
		whole = append(whole, all)
		return step, err
	}
	theirs := func() (float64, error) {
		round++
		if err := change(theirDir, files, round); err != nil {
			return 0, err
		}
		began := time.Now()
		err := b.createPullRequest(ctx, theirDir, name, fmt.Sprintf("cpr/work-%d", round))
		return ms(time.Since(began)), err
	}
	a, c, err := inTurns(rounds, ours, theirs)
	if err != nil {
		return row{}, err
	}
	cpr := measured("ms", c)
	return row{
		What: fmt.Sprintf("publish step (commit, push, pull request), %d files, 20 changed", files), Ours: measured("ms", a),
		Comparison: "git and API calls of create-pull-request (an equivalent)", Theirs: &cpr, Target: target{AtMost: 0.5, Ratio: true},
		Note: fmt.Sprintf("The comparison is not create-pull-request itself: its git commands and its API call in their order, started directly, without the start of Node. With everything of ours that comes before the loop (import of the repository, look at the server, pre-flight of API and token) it is %s, %.2f ×.",
			measured("ms", whole), median(whole)/median(c)),
	}, nil
}

// publishOnce gives the time of the publishing step, and with what precedes
// the loop.
func (b *bench) publishOnce(ctx context.Context, children *proc.Supervisor, dir, name string, files, round int) (step, all float64, err error) {
	if err := b.git(ctx, dir, "checkout", "-q", "-f", "-B", "main", "refs/remotes/origin/main"); err != nil {
		return 0, 0, err
	}
	branch := fmt.Sprintf("ralph/work-%d", round)
	began := time.Now()
	client, err := forgeapi.New(forgeapi.Options{
		APIURL: b.forge.url + "/api/v3", ServerURL: b.forge.url, GraphQLURL: b.forge.url + "/api/graphql",
		Repository: owner + "/" + name, Token: secret.New(token),
	})
	if err != nil {
		return 0, 0, err
	}
	if _, err := client.Preflight(ctx, "main"); err != nil {
		return 0, 0, err
	}
	if err := client.ProbePullRequest(ctx, "main"); err != nil {
		return 0, 0, err
	}
	r, closeAll, err := b.open(ctx, children, dir, name, branch)
	if err != nil {
		return 0, 0, err
	}
	defer closeAll()
	before := time.Since(began)
	if err := change(dir, files, round); err != nil {
		return 0, 0, err
	}
	began = time.Now()
	if err := save(ctx, r, round); err != nil {
		return 0, 0, err
	}
	if err := r.Push(ctx); err != nil {
		return 0, 0, err
	}
	pull, _, err := client.Upsert(ctx, forgeapi.PullRequest{Title: "Bench", Body: "Body.", Head: branch, Base: "main"})
	if err == nil && pull.Number == 0 {
		err = errors.New("no pull request was made")
	}
	took := time.Since(began)
	return ms(took), ms(before + took), err
}

// createPullRequest does with git and the API what peter-evans/create-pull-request
// does for a new branch (create-pull-request.ts and create-or-update-branch.ts
// of its version 7): the changes go to a temporary branch, the working base is
// reset, the pull request's branch is looked for, made, pushed, proposed.
func (b *bench) createPullRequest(ctx context.Context, dir, name, branch string) error {
	const temp = "0b6a1c0e-5d0e-4c8e-9a43-5a3f3f1d0c55"
	key := b.forge.headerKey()
	missing := []string{"-c", "protocol.version=2", "fetch", "--no-tags", "--progress", "--no-recurse-submodules", "--force", "--depth=11", "origin", branch + ":refs/remotes/origin/" + branch}
	for _, args := range [][]string{
		{"config", "--local", "--name-only", "--get-regexp", "^http[.].*extraheader$", "."},
		{"config", "--local", "--get-regexp", "^http[.].*extraheader$", "."},
		{"config", "--local", "--unset", key},
		{"config", "--local", "--get", "remote.origin.url"},
		{"config", "--local", key, header()},
		{"symbolic-ref", "HEAD", "--short"},
		{"remote", "prune", "origin"},
		{"symbolic-ref", "HEAD", "--short"},
		{"checkout", "--progress", "-B", temp, "HEAD", "--"},
		{"status", "--porcelain", "-unormal", "--"},
		{"add", "-A"},
		{"commit", "-m", "ralph: iteration 1"},
		{"stash", "push", "--include-untracked"},
		{"checkout", "--progress", "main", "--"},
		{"reset", "--hard", "origin/main"},
		{"rev-list", "--right-only", "--count", "main..." + temp},
		missing,
		{"checkout", "--progress", "-B", branch, temp, "--"},
		{"rev-list", "--right-only", "--count", "main..." + branch},
		{"rev-parse", "main"},
		{"show", "--raw", "--cc", "--no-renames", "--no-abbrev", "main"},
		{"rev-parse", branch},
		{"log", "--format=%H", "main.." + branch},
		{"show", "--raw", "--cc", "--no-renames", "--no-abbrev", branch},
		{"branch", "--delete", "--force", temp},
		{"checkout", "--progress", "main", "--"},
		{"push", "--force-with-lease", "origin", branch + ":refs/heads/" + branch},
	} {
		if err := b.git(ctx, dir, args...); err != nil && args[0] != "-c" { // the branch is new: not found is the answer
			return err
		}
	}
	if err := b.post(ctx, "/api/v3/repos/"+owner+"/"+name+"/pulls", map[string]any{
		"title": "Bench", "head": owner + ":" + branch, "head_repo": owner + "/" + name, "base": "main", "body": "Body.", "draft": false, "maintainer_can_modify": true,
	}); err != nil {
		return err
	}
	return errors.Join(b.git(ctx, dir, "config", "--local", "--unset", key), b.git(ctx, dir, "config", "--local", key, header()))
}

func (b *bench) post(ctx context.Context, path string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.forge.url+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Timeout: time.Minute}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != http.StatusCreated {
		err = fmt.Errorf("POST %s: %s: %s", path, answer.Status, text)
	}
	return err
}
