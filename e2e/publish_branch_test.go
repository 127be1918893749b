//go:build e2e

package e2e

import (
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// waits is an agent that writes a file, and ends once the test says so.
const waits = `cat >/dev/null
echo ours >ours.txt
touch started.tmp
n=0
while [ ! -e go.tmp ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done` + done

// during runs the step, and does something while its agent works.
func (j *job) during(t *testing.T, do func()) result {
	t.Helper()
	s := j.startHere(t)
	await(t, hereLimit, "the agent starts", func() bool {
		select {
		case <-s.done:
			t.Fatal("the step ended before its agent started")
		default:
		}
		matches, _ := filepath.Glob(filepath.Join(j.Workspace, "started.tmp"))
		return len(matches) == 1
	})
	do()
	writeFiles(t, j.Workspace, map[string]string{"go.tmp": ""})
	return s.wait(t, hereLimit)
}

// A person pushes to the branch while the agent works: both are kept, in one
// pull request, whether the branch was there before or not.
func TestPublishConcurrentPush(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		exists bool
		theirs string // file the person writes
		split  bool   // theirs contradicts ours
	}{
		{"another file", true, "theirs.txt", false},
		{"the branch is new", false, "theirs.txt", false},
		{"the same file", true, "ours.txt", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := forge(t).newRepository(t, program)
			person, from := "", "main"
			if c.exists {
				person, from = r.clone(t, "main"), "ralph/mul"
				r.pushFile(t, person, "ralph/mul", "before.txt", "before")
			}
			person = r.clone(t, from)
			j := newNight(t, r, waits)
			res := j.during(t, func() { r.pushFile(t, person, "ralph/mul", c.theirs, "theirs") })
			if res.Code != 0 {
				t.Fatalf("exit code %d, want 0", res.Code)
			}
			branch := res.Outputs["branch"]
			if c.split != (branch != "ralph/mul") {
				t.Fatalf("the work is on %s", branch)
			}
			if got := r.content(t, "ralph/mul", c.theirs); got != "theirs" {
				t.Errorf("%s = %q, want the person's", c.theirs, got)
			}
			if got := r.content(t, branch, "ours.txt"); got != "ours" {
				t.Errorf("ours.txt on %s = %q, want ours", branch, got)
			}
			ps := r.pulls(t)
			if len(ps) != 1 || ps[0].Head.Ref != branch {
				t.Errorf("pull requests = %+v, want one from %s", ps, branch)
			}
			if c.split {
				wants(t, "summary", res.Summary, branch)
			}
		})
	}
}

// A pull request that was squash-merged is no reason for another one, and new
// work makes one that shows nothing but the new work.
func TestPublishAfterSquashMerge(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{true, false} {
		name := map[bool]string{true: "the branch was left", false: "the branch was deleted"}[left]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := forge(t).newRepository(t, program)
			newNight(t, r, writes("one.txt", "one")).must(t, 0, "completed")
			await(t, 20*time.Second, "the forge merges", func() bool {
				_, err := r.call(http.MethodPost, "/repos/"+r.Name+"/pulls/1/merge", map[string]any{"Do": "squash", "delete_branch_after_merge": !left}, nil)
				return err == nil
			})
			r.Base = r.fetch(t, "main")
			if got := r.content(t, "main", "one.txt"); got != "one" {
				t.Fatalf("main has one.txt = %q after the merge, want one", got)
			}

			idle := newNight(t, r, "cat >/dev/null"+done)
			idle.Inputs["on-incomplete"] = "succeed"
			res := idle.must(t, 0, "max-iterations")
			res.outputs(t, map[string]string{"pull-request-operation": "none", "pull-request-number": ""})
			if n := len(r.pulls(t)); n != 1 {
				t.Fatalf("%d pull requests after a night without work, want the merged one alone", n)
			}

			newNight(t, r, writes("two.txt", "two")).must(t, 0, "completed").outputs(t,
				map[string]string{"pull-request-operation": "created", "pull-request-number": "2"})
			await(t, 20*time.Second, "the new pull request shows two.txt alone", func() bool {
				diff := r.diff(t, 2)
				return strings.Contains(diff, "two.txt") && !strings.Contains(diff, "one.txt")
			})
			var p struct {
				Mergeable bool `json:"mergeable"`
			}
			await(t, 20*time.Second, "the forge can merge the new one", func() bool {
				_, err := r.call(http.MethodGet, "/repos/"+r.Name+"/pulls/2", nil, &p)
				return err == nil && p.Mergeable
			})
		})
	}
}

// A branch that the base has caught up with is deleted on request, and its pull
// request closed.
func TestPublishDeleteBranch(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	newNight(t, r, writes("one.txt", "one")).must(t, 0, "completed")
	// Somebody pushes the same commits to main by hand: the branch adds nothing now.
	git(t, r.Seed, "fetch", "-q", r.pushURL(), "ralph/mul")
	git(t, r.Seed, "push", "-q", r.pushURL(), "FETCH_HEAD:refs/heads/main")
	r.Base = r.fetch(t, "main")
	j := newNight(t, r, "cat >/dev/null"+done)
	j.Inputs["on-incomplete"], j.Inputs["delete-branch"] = "succeed", "true"
	j.must(t, 0, "max-iterations").outputs(t, map[string]string{"pull-request-operation": "closed", "pull-request-number": "1"})
	if got := r.branches(t); !slices.Equal(got, []string{"main"}) {
		t.Errorf("branches = %q, want main alone", got)
	}
	ps := r.pulls(t)
	if len(ps) != 1 || ps[0].State != "closed" {
		t.Errorf("pull requests = %+v, want the one, closed", ps)
	}
}

// What the inputs say about the branch's name and the commits is true on the forge.
func TestPublishCommits(t *testing.T) {
	t.Parallel()
	shared := forge(t).newRepository(t, program)
	once := "cat >/dev/null\nmkdir wanted; echo 1 >wanted/one; echo x >other" + done
	agent := "cat >/dev/null\nif [ ! -e wanted/one ]; then mkdir wanted; echo 1 >wanted/one; echo x >other; echo Half of it.; exit; fi\necho 2 >wanted/two" + done
	for _, c := range []struct {
		name     string
		inputs   map[string]string
		branch   string // pattern
		subjects []string
		files    []string // beside the program's
		trailer  string
	}{
		{"branch-suffix random", map[string]string{"branch-suffix": "random"}, `^ralph/NAME-[0-9a-z]{6,}$`, []string{"Add other and 1 more file"}, []string{"other", "wanted/one"}, ""},
		{"branch-suffix timestamp", map[string]string{"branch-suffix": "timestamp"}, `^ralph/NAME-[0-9]{10,}$`, []string{"Add other and 1 more file"}, []string{"other", "wanted/one"}, ""},
		{"branch-suffix short-commit-hash", map[string]string{"branch-suffix": "short-commit-hash"}, `^ralph/NAME-BASE7$`, []string{"Add other and 1 more file"}, []string{"other", "wanted/one"}, ""},
		{"add-paths", map[string]string{"add-paths": "wanted"}, `^ralph/NAME$`, []string{"Add wanted/one", "Add wanted/two"}, []string{"wanted/one", "wanted/two"}, ""},
		{"signoff", map[string]string{"signoff": "true", "committer": "Ann Bot <ann@example.com>"}, `^ralph/NAME$`, []string{"Add other and 1 more file", "Add wanted/two"}, []string{"other", "wanted/one", "wanted/two"},
			"Ann Bot <ann@example.com>"},
		{"squash", map[string]string{"commit-message": "Add mul"}, `^ralph/NAME$`, []string{"Add mul"}, []string{"other", "wanted/one", "wanted/two"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := shared.view(t)
			script := agent
			if c.inputs["branch-suffix"] != "" {
				script = once
			}
			j := newNight(t, r, script)
			name := strings.ReplaceAll(c.name, " ", "-")
			j.Inputs["branch"] = "ralph/" + name
			for name, value := range c.inputs {
				j.Inputs[name] = value
			}
			if c.name == "squash" {
				j.Keys["squash"] = "true"
			}
			res := j.must(t, 0, "completed")
			branch := res.Outputs["branch"]
			pattern := strings.NewReplacer("BASE7", r.Base[:7], "NAME", name).Replace(c.branch)
			if !regexp.MustCompile(pattern).MatchString(branch) {
				t.Fatalf("branch = %q, want %s", branch, pattern)
			}
			if got := r.subjects(t, branch); !slices.Equal(got, c.subjects) {
				t.Errorf("commits = %q, want %q", got, c.subjects)
			}
			want := append([]string{".gitignore", "README.md", "calc.sh", "test.sh"}, c.files...)
			got := r.tree(t, branch)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("files = %q, want %q", got, want)
			}
			if got := git(t, r.Seed, "log", "-1", "--format=%(trailers:key=Signed-off-by,valueonly)", "origin/"+branch); got != c.trailer {
				t.Errorf("Signed-off-by: %q, want %q", got, c.trailer)
			}
			if c.name == "add-paths" {
				if got := readFile(t, filepath.Join(j.Workspace, "other")); got != "x\n" {
					t.Errorf("other in the workspace = %q, want it as it was", got)
				}
			}
			if ps := r.pullsOf(t, branch); len(ps) != 1 || ps[0].Head.SHA != res.Outputs["head-sha"] {
				t.Errorf("pull requests = %+v, want one from %s", ps, branch)
			}
		})
	}
}

// The base moved after the first night: the second one brings the branch up to it.
func TestPublishUpdateBase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how      string
		stranger bool
		code     int
	}{{"none", false, 0}, {"merge", false, 0}, {"merge", true, 0}, {"rebase", false, 0}, {"rebase", true, 2}} {
		name := c.how
		if c.stranger {
			name += " with a person's commit on it"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := forge(t).newRepository(t, program)
			newNight(t, r, writes("one.txt", "one")).must(t, 0, "completed")
			if c.stranger {
				r.pushFile(t, r.clone(t, "ralph/mul"), "ralph/mul", "person.txt", "person")
			}
			before := r.fetch(t, "ralph/mul")
			r.moveBase(t, "base.txt", "moved")
			j := newNight(t, r, writes("two.txt", "two"))
			j.Keys["update-base"] = c.how
			res := j.must(t, c.code, map[int]string{0: "completed", 2: "invalid"}[c.code])
			if c.code != 0 {
				if got := r.fetch(t, "ralph/mul"); got != before {
					t.Errorf("the branch is at %s, want %s as before", got, before)
				}
				j.untouched(t, "two.txt")
				wants(t, "log", res.Log, "rebase")
				return
			}
			res.outputs(t, map[string]string{"pull-request-operation": "updated", "pull-request-number": "1"})
			files := r.tree(t, "ralph/mul")
			if got, want := slices.Contains(files, "base.txt"), c.how != "none"; got != want {
				t.Errorf("files = %q; has the base's file: %t, want %t", files, got, want)
			}
			for _, name := range []string{"one.txt", "two.txt"} {
				if !slices.Contains(files, name) {
					t.Errorf("files = %q, want %s in it", files, name)
				}
			}
			if c.stranger && r.content(t, "ralph/mul", "person.txt") != "person" {
				t.Error("the person's commit is lost")
			}
			kept := git(t, r.Seed, "merge-base", "origin/ralph/mul", before) == before
			if kept != (c.how != "rebase") {
				t.Errorf("the old tip is in the new branch: %t", kept)
			}
			if c.how == "rebase" {
				if got := r.subjects(t, "ralph/mul"); !slices.Equal(got, []string{"Add one.txt", "Add two.txt"}) {
					t.Errorf("commits on top of main = %q, want two", got)
				}
			}
			await(t, 20*time.Second, "the pull request shows nothing that the base has", func() bool { // once the forge has looked
				return !strings.Contains(r.diff(t, 1), "base.txt")
			})
		})
	}
}

// Gitea makes no commits through an API: that is said before the agent starts.
func TestPublishSignCommits(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	j := newNight(t, r, writes("one.txt", "one"))
	j.Inputs["sign-commits"] = "true"
	res := j.must(t, 2, "invalid")
	wants(t, "log", res.Log, "sign commits", "set sign-commits to false")
	j.untouched(t, "one.txt")
	if got := r.branches(t); !slices.Equal(got, []string{"main"}) {
		t.Errorf("branches = %q, want main alone", got)
	}
}
