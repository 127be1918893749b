package barerepo

import (
	"os"
	"os/exec"
	"strings"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// mostCommits bounds what is walked without git.
const mostCommits = 300

// Commit is one commit of a branch.
type Commit struct {
	SHA     string
	Subject string
	Author  string // "Name <mail>"
}

// Reaches reports whether a commit is another's ancestor, or that itself.
func Reaches(r gitserver.Repository, from, ancestor string) bool {
	if all, ok := ancestors(r, from); ok {
		return all[ancestor]
	}
	_, err := git(r, "merge-base", "--is-ancestor", ancestor, from)
	return err == nil
}

// Between lists what head has and base has not, newest first.
func Between(r gitserver.Repository, base, head string) []Commit {
	if base == "" || head == "" {
		return nil
	}
	if list, ok := line(r, base, head); ok {
		return list
	}
	out, err := git(r, "log", "--topo-order", "--max-count=1000", "--format=%H%x00%s%x00%an <%ae>", base+".."+head)
	if err != nil {
		return nil
	}
	var list []Commit
	for line := range strings.Lines(out) {
		if parts := strings.Split(strings.TrimSuffix(line, "\n"), "\x00"); len(parts) == 3 {
			list = append(list, Commit{SHA: parts[0], Subject: parts[1], Author: parts[2]})
		}
	}
	return list
}

// line is Between where head is a line of commits; ok is false where only git knows.
func line(r gitserver.Repository, base, head string) (list []Commit, ok bool) {
	known, ok := ancestors(r, base)
	for id := head; ok && !known[id]; {
		c, isCommit := read(r, id)
		if ok = isCommit && len(c.parents) < 2 && len(list) < mostCommits; !ok {
			break
		}
		list = append(list, Commit{id, c.subject, c.author})
		if len(c.parents) == 0 {
			break
		}
		id = c.parents[0]
	}
	return list, ok
}

func git(r gitserver.Repository, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "safe.directory=*", "--git-dir", r.Dir}, args...)...) //nolint:noctx // it reads, and ends
	cmd.Dir = r.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull} //nolint:forbidigo // tests only
	out, err := cmd.Output()
	return string(out), err
}

// ancestors are a commit and all behind it.
func ancestors(r gitserver.Repository, tip string) (all map[string]bool, ok bool) {
	all = map[string]bool{}
	for next := []string{tip}; len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if all[id] {
			continue
		}
		c, isCommit := read(r, id)
		if !isCommit || len(all) == mostCommits {
			return nil, false
		}
		all[id] = true
		next = append(next, c.parents...)
	}
	return all, true
}

type commit struct {
	parents         []string
	author, subject string
}

// read reads a loose commit; ok is false for any other, or one that is not in UTF-8.
func read(r gitserver.Repository, id string) (c commit, ok bool) {
	kind, data, err := r.Object(id)
	if err != nil || kind != "commit" {
		return c, false
	}
	header, message, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.Lines(header) {
		switch word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); word {
		case "parent":
			c.parents = append(c.parents, rest)
		case "author":
			c.author = rest[:strings.LastIndexByte(rest, '>')+1]
		case "encoding":
			return c, false
		}
	}
	var subject []string
	for line := range strings.Lines(message) {
		if line = strings.TrimRight(line, " \t\n"); line != "" {
			subject = append(subject, line)
		} else if len(subject) > 0 {
			break
		}
	}
	c.subject = strings.Join(subject, " ")
	return c, true
}
