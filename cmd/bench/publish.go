package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	forgeapi "github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// big, medium and small are the repositories of the last rows.
const (
	big, bigFiles       = "big", 50_000
	medium, mediumFiles = "medium", 10_000
	small, smallFiles   = "small", 200
)

// open makes a repository ready for a run, with a supervised sandbox.
func (b *bench) open(ctx context.Context, children *proc.Supervisor, dir, name, branch string, contact *repo.Contact) (*repo.Repo, func(), error) {
	private, err := os.MkdirTemp(b.dir, "private-")
	if err != nil {
		return nil, nil, err
	}
	undo := []func(){func() { _ = os.RemoveAll(private) }}
	done := func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	temp, store := filepath.Join(private, "tmp"), filepath.Join(private, "store")
	if err := errors.Join(os.Mkdir(temp, 0o700), os.Mkdir(store, 0o700)); err != nil {
		done()
		return nil, nil, err
	}
	r, err := repo.Open(ctx, repo.Options{
		Dir: dir, Sandbox: &sandbox{children: children, dir: dir, env: b.env}, Temp: temp, Store: store,
		Remote: b.forge.remote(name), Token: secret.New(token), Push: true, Contact: contact, Branch: branch, DefaultBranch: "main",
		Committer: repo.Identity{Name: "Bench", Email: "bench@example.com"}, Author: repo.Identity{Name: "Bench", Email: "bench@example.com"},
		Message: func(it ralph.Iteration, _ []ralph.File) string {
			return fmt.Sprintf("ralph: iteration %d\n", it.Number)
		}, Clock: time.Now,
	})
	if err != nil {
		done()
		return nil, nil, err
	}
	undo = append(undo, func() { _ = r.Close() })
	err = r.Branch().CanPush(ctx)
	if err == nil {
		_, err = r.Begin(ctx)
	}
	if err == nil {
		err = r.Mark(ctx)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return r, done, nil
}

// save takes a snapshot and makes a pushed commit of it.
func save(ctx context.Context, r *repo.Repo, round int) error {
	if _, err := r.Snapshot(ctx); err != nil {
		return err
	}
	c, err := r.Checkpoint(ctx, ralph.Iteration{Number: round})
	if err == nil {
		c = r.PushCheckpoint(ctx, c)
	}
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
	r, closeAll, err := b.open(ctx, children, oursDir, big, "ralph/checkpoints", nil)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	round := 0
	changed := func(dir string, save func() error) func() (float64, error) {
		return func() (float64, error) {
			round++
			if err := change(dir, bigFiles, round); err != nil {
				return 0, err
			}
			began := time.Now()
			err := save()
			return ms(time.Since(began)), err
		}
	}
	ours := changed(oursDir, func() error { return save(ctx, r, round) })
	theirs := changed(gitDir, func() error {
		for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "round"}, {"push", "-q", "origin", "plain"}} {
			if err := b.git(ctx, gitDir, args...); err != nil {
				return err
			}
		}
		return nil
	})
	if _, _, err := inTurns(1, ours, theirs); err != nil { // makes the branches, and the caches warm
		return nil, err
	}
	one, err := row{
		What: "snapshot + checkpoint + push, 50,000 files, 20 changed", Comparison: "git add -A && git commit && git push", Target: target{AtMost: 1, Ratio: true},
		Note: "The same git http-backend on loopback, with the token of the checkout. The sandbox's git is a supervised child.",
	}.compare(rounds, ours, theirs)
	return []row{one}, err
}

// publication is one comparison with create-pull-request.
type publication struct {
	name   string
	files  int
	rounds int
	far    time.Duration // before each answer of the server
	update bool          // the branch and its pull request are there already
}

// publish compares what publishing takes with what create-pull-request does.
func (b *bench) publish(ctx context.Context) ([]row, error) {
	const far = 200 * time.Millisecond
	var rows []row
	for _, p := range []publication{
		{small, smallFiles, 9, 0, false}, {medium, mediumFiles, 7, 0, false}, {big, bigFiles, 5, 0, false},
		{small, smallFiles, 9, 0, true}, {small, smallFiles, 5, far, false}, {small, smallFiles, 5, far, true},
	} {
		more, err := b.publishRows(ctx, p)
		if err != nil {
			return rows, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (b *bench) publishRows(ctx context.Context, p publication) ([]row, error) {
	if _, err := os.Stat(filepath.Join(b.forge.dir, owner, p.name+".git")); err != nil {
		if err := b.seed(ctx, p.name, p.files); err != nil {
			return nil, err
		}
	}
	as := fmt.Sprintf("%s-%v-%s", p.name, p.update, p.far)
	oursDir, err := b.checkout(ctx, p.name, as+"-ours")
	if err != nil {
		return nil, err
	}
	theirDir, err := b.checkout(ctx, p.name, as+"-cpr")
	if err != nil {
		return nil, err
	}
	children, err := proc.Start(ctx, proc.Options{SpillDir: b.dir})
	if err != nil {
		return nil, err
	}
	defer func() { _ = children.Close() }()
	branch := func(prefix string, round int) string {
		if p.update {
			round = 0
		}
		return fmt.Sprintf("%s/%s-%d", prefix, as, round)
	}
	starts := func(argv ...string) (float64, error) {
		began := time.Now()
		err := b.command(ctx, b.dir, argv...).Run()
		return ms(time.Since(began)), err
	}
	round := 0
	var steps, calls []float64
	ours := func() (float64, error) {
		round++
		start, err := starts(b.ralph, "version")
		if err != nil {
			return 0, err
		}
		step, all, err := b.publishOnce(ctx, children, oursDir, p, branch("ralph", round), round)
		steps = append(steps, step)
		return start + all, err
	}
	theirs := func() (float64, error) {
		round++
		if err := change(theirDir, p.files, round); err != nil {
			return 0, err
		}
		if b.cpr != "" {
			return b.realCreatePullRequest(ctx, theirDir, p, branch("cpr", round), round)
		}
		start, err := starts("node", "-e", "0")
		if err != nil {
			return 0, fmt.Errorf("the start of Node, in which create-pull-request runs: %w", err)
		}
		began := time.Now()
		err = b.createPullRequest(ctx, theirDir, p, branch("cpr", round))
		calls = append(calls, ms(time.Since(began)))
		return start + calls[len(calls)-1], err
	}
	if p.update { // makes the branches and pull requests
		if _, _, err := inTurns(1, ours, theirs); err != nil {
			return nil, err
		}
		steps, calls = nil, nil
	}
	b.forge.delay.Store(int64(p.far))
	defer b.forge.delay.Store(0)
	comparison, note := "start of Node, git and API calls of create-pull-request (an equivalent)", "The comparison is not create-pull-request itself: its git commands and its API calls in their order, as on a runner of one's own (elsewhere it does not prune), after the start of Node without its program."
	if b.cpr != "" {
		comparison, note = "create-pull-request", "The comparison is create-pull-request itself, as a runner starts it."
	}
	all, err := row{
		Comparison: comparison,
		Note:       "Ours with all that comes before the loop: pre-flight of API and token, look at the server, import of the repository, and with the start of ralph. " + note,
	}.compare(p.rounds, ours, theirs)
	return p.rows(measured("ms", steps), measured("ms", calls), all), err
}

// rows are one row for pre-flight and publishing, and, where nothing else differs,
// one for publishing alone.
func (p publication) rows(step, calls value, all row) []row {
	what := fmt.Sprintf("pull request created, %d files, 20 changed", p.files)
	if p.update {
		what = strings.Replace(what, "created", "updated", 1)
	}
	if p.far > 0 {
		what += fmt.Sprintf(", %s per request", p.far)
	}
	all.What = what + ": pre-flight and publishing"
	if p.files == smallFiles {
		all.Target = target{AtMost: 0.6, Ratio: true}
	}
	if p.update || p.far > 0 || len(calls.Samples) == 0 {
		return []row{all}
	}
	return []row{{What: what + ": commit, push, pull request", Ours: step, Comparison: "git and API calls of create-pull-request (an equivalent)", Theirs: &calls, Target: target{AtMost: 0.5, Ratio: true}}, all}
}

// publishOnce gives the time of the publishing step, and with what precedes
// the loop.
func (b *bench) publishOnce(ctx context.Context, children *proc.Supervisor, dir string, p publication, branch string, round int) (step, all float64, err error) {
	if err := b.git(ctx, dir, "checkout", "-q", "-f", "-B", "main", "refs/remotes/origin/main"); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	contact, err := repo.Dial(ctx, repo.Options{Remote: b.forge.remote(p.name), Token: secret.New(token), Push: true})
	if err != nil {
		return 0, 0, err
	}
	defer contact.Close()
	client, err := forgeapi.New(forgeapi.Options{
		APIURL: b.forge.url + "/api/v3", ServerURL: b.forge.url, GraphQLURL: b.forge.url + "/api/graphql",
		Repository: owner + "/" + p.name, Token: secret.New(token),
	})
	if err != nil {
		return 0, 0, err
	}
	if _, err := client.Preflight(ctx, forgeapi.Ask{Likely: "main", PullRequests: true}); err != nil {
		return 0, 0, err
	}
	r, closeAll, err := b.open(ctx, children, dir, p.name, branch, contact)
	if err != nil {
		return 0, 0, err
	}
	defer closeAll()
	before := time.Since(began)
	if err := change(dir, p.files, round); err != nil {
		return 0, 0, err
	}
	began = time.Now()
	if err := save(ctx, r, round); err != nil {
		return 0, 0, err
	}
	if err := r.Push(ctx); err != nil {
		return 0, 0, err
	}
	pull, _, err := client.Upsert(ctx, forgeapi.PullRequest{Title: "Bench", Body: fmt.Sprintf("Body of round %d.", round), Head: branch, Base: "main", NewHead: !p.update})
	if err == nil && pull.Number == 0 {
		err = errors.New("no pull request was made")
	}
	took := time.Since(began)
	return ms(took), ms(before + took), err
}

// realCreatePullRequest runs create-pull-request as a runner does.
func (b *bench) realCreatePullRequest(ctx context.Context, dir string, p publication, branch string, round int) (float64, error) {
	c := b.command(ctx, dir, "node", b.cpr)
	repository := owner + "/" + p.name
	c.Env = append(slices.Clone(b.env), "GITHUB_WORKSPACE="+dir, "GITHUB_REPOSITORY="+repository, "GITHUB_SERVER_URL="+b.forge.url, "GITHUB_API_URL="+b.forge.url+"/api/v3",
		"GITHUB_GRAPHQL_URL="+b.forge.url+"/api/graphql", "GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_REF=refs/heads/main", "GITHUB_ACTOR=octo", "GITHUB_RUN_ID=1", "RUNNER_TEMP="+b.dir, "HOME="+b.dir, "NODE_TLS_REJECT_UNAUTHORIZED=0", "GIT_CONFIG_GLOBAL="+filepath.Join(b.dir, "gitconfig"), // it writes there
		"INPUT_TOKEN="+token, "INPUT_BRANCH-TOKEN="+token, "INPUT_ADD-PATHS=", "INPUT_COMMIT-MESSAGE=ralph: iteration 1", "INPUT_AUTHOR=Bench <bench@example.com>", "INPUT_COMMITTER=Bench <bench@example.com>",
		"INPUT_BASE=main", "INPUT_BRANCH="+branch, "INPUT_TITLE=Bench", fmt.Sprintf("INPUT_BODY=Body of round %d.", round), "INPUT_DRAFT=false", "INPUT_SIGNOFF=false", "INPUT_DELETE-BRANCH=false", "INPUT_SIGN-COMMITS=false", "INPUT_MAINTAINER-CAN-MODIFY=true")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	began := time.Now()
	err := c.Run()
	took := ms(time.Since(began))
	if err != nil || !strings.Contains(out.String(), "pull request") && !strings.Contains(out.String(), "Pull request") {
		return 0, fmt.Errorf("create-pull-request: %w\n%s", err, out.String())
	}
	return took, nil
}

// createPullRequest does with git and the API what peter-evans/create-pull-request
// does (create-pull-request.ts and create-or-update-branch.ts of its version 8):
// the changes go to a temporary branch, the working base is reset, the pull
// request's branch is looked for, made or reset, pushed, proposed.
func (b *bench) createPullRequest(ctx context.Context, dir string, p publication, branch string) error {
	const temp = "0b6a1c0e-5d0e-4c8e-9a43-5a3f3f1d0c55"
	key := b.forge.headerKey()
	exists := p.update && b.git(ctx, dir, "rev-parse", "-q", "--verify", "refs/remotes/origin/"+branch) == nil
	steps := [][]string{
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
		{"-c", "protocol.version=2", "fetch", "--no-tags", "--progress", "--no-recurse-submodules", "--force", "--depth=11", "origin", branch + ":refs/remotes/origin/" + branch},
	}
	if exists {
		steps = append(steps, [][]string{
			{"checkout", "--progress", branch, "--"},
			{"rev-list", "--right-only", "--count", "main..." + branch},
			{"diff", "--quiet", branch + ".." + temp},
			{"checkout", "--progress", "-B", branch, temp, "--"},
			{"rev-list", "--right-only", "--count", "origin/" + branch + "..." + branch},
			{"rev-list", "--left-only", "--count", "origin/" + branch + "..." + branch},
		}...)
	} else {
		steps = append(steps, []string{"checkout", "--progress", "-B", branch, temp, "--"})
	}
	for _, args := range append(steps, [][]string{
		{"rev-list", "--right-only", "--count", "main..." + branch},
		{"rev-parse", "main"},
		{"show", "--raw", "--cc", "--no-renames", "--no-abbrev", "main"},
		{"rev-parse", branch},
		{"log", "--format=%H", "main.." + branch},
		{"show", "--raw", "--cc", "--no-renames", "--no-abbrev", branch},
		{"branch", "--delete", "--force", temp},
		{"checkout", "--progress", "main", "--"},
		{"push", "--force-with-lease", "origin", branch + ":refs/heads/" + branch},
	}...) {
		// Where the branch is new, its fetch finds none; where it is to be reset, a
		// difference is the answer.
		if err := b.git(ctx, dir, args...); err != nil && args[0] != "-c" && args[0] != "diff" {
			return err
		}
	}
	if err := b.propose(ctx, p, branch, exists); err != nil {
		return err
	}
	return errors.Join(b.git(ctx, dir, "config", "--local", "--unset", key), b.git(ctx, dir, "config", "--local", key, header()))
}

// propose tries to create the pull request; one that exists is looked for and
// updated then.
func (b *bench) propose(ctx context.Context, p publication, branch string, exists bool) error {
	pulls := "/api/v3/repos/" + owner + "/" + p.name + "/pulls"
	status := http.StatusCreated
	if exists {
		status = http.StatusUnprocessableEntity
	}
	_, err := b.call(ctx, http.MethodPost, pulls, map[string]any{
		"title": "Bench", "head": owner + ":" + branch, "head_repo": owner + "/" + p.name, "base": "main", "body": "Body.", "draft": false, "maintainer_can_modify": true,
	}, status)
	if err != nil || !exists {
		return err
	}
	text, err := b.call(ctx, http.MethodGet, pulls+"?"+url.Values{"state": {"open"}, "head": {owner + ":" + branch}, "base": {"main"}}.Encode(), nil, http.StatusOK)
	if err != nil {
		return err
	}
	var found []struct{ Number int }
	if err := json.Unmarshal(text, &found); err != nil || len(found) == 0 {
		return fmt.Errorf("the pull request of %s: %q, %w", branch, text, err)
	}
	_, err = b.call(ctx, http.MethodPatch, fmt.Sprintf("%s/%d", pulls, found[0].Number), map[string]any{"title": "Bench", "body": "Body."}, http.StatusOK)
	return err
}

// call sends one request to the forge's API and returns the answer.
func (b *bench) call(ctx context.Context, method, path string, body any, want int) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, b.forge.url+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := &http.Client{Timeout: time.Minute}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil && answer.StatusCode != want {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	return text, err
}
