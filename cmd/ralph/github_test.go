package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// github DEED ARGS: what people and GitHub do on the script's forge.
//
//	permission LOGIN LEVEL      user LOGIN              token VALUE LOGIN [RIGHT:LEVEL…]
//	expire VALUE AFTER          protect BRANCH          archive
//	rename NAME                 not-permitted           no-drafts
//	milestone NUMBER TITLE      team SLUG               fork OWNER NAME
//	issue AUTHOR TITLE BODY [LABEL…]                    comment NUMBER AUTHOR TEXT
//	review NUMBER LOGIN STATE
//	lock NUMBER                 open AUTHOR HEAD BASE TITLE BODY
//	merge NUMBER                squash-merge NUMBER     close NUMBER
//	rebase-merge NUMBER         retarget NUMBER BASE    title NUMBER TITLE
//	put BRANCH PATH TEXT        drop BRANCH PATH        amend BRANCH PATH TEXT
//	delete-branch NAME          tree BRANCH DIR         check NAME CONCLUSION LOG
//	check-second NAME LOG       no-checks
//	run BRANCH EVENT NAME CONCLUSION LOG                event FILE
//	close-issue NUMBER
//	web-page METHOD PATH-PART TIMES      rule KIND BYPASS BRANCH
//	repository OWNER NAME DIR
//
// What can be seen afterwards, in a file: comments NUMBER (comments.txt), calls
// (calls.txt, those of the API), files BRANCH (files.txt, mode and path),
// proposed BRANCH BASE (proposed.txt, the files a pull request would show),
// log BASE BRANCH (log.txt, subjects and authors), logs (logs.txt).
func githubCommand(ts *testscript.TestScript, neg bool, args []string) {
	w := theWorld(ts)
	deeds := map[string]func(a []string) error{
		"permission":    func(a []string) error { w.repo.SetPermission(a[0], a[1]); return nil },
		"user":          func(a []string) error { w.forge.AddUser(a[0]); return nil },
		"token":         func(a []string) error { w.forge.AddToken(tokenOf(a)); return nil },
		"expire":        func(a []string) error { w.forge.ExpireToken(a[0], number(ts, a[1])); return nil },
		"protect":       func(a []string) error { w.repo.Protect(a[0]); return nil },
		"rule":          func(a []string) error { w.repo.AddRule(a[0], a[1], a[2]); return nil },
		"archive":       func([]string) error { w.repo.Archive(); return nil },
		"rename":        func(a []string) error { w.repo.Rename(a[0]); return nil },
		"not-permitted": func([]string) error { w.repo.MayNotOpen = true; return nil },
		"no-drafts":     func([]string) error { w.repo.NoDrafts = true; return nil },
		"milestone":     func(a []string) error { w.repo.AddMilestone(number(ts, a[0]), a[1]); return nil },
		"team":          func(a []string) error { w.repo.AddTeam(a[0]); return nil },
		"repository": func(a []string) error {
			r, err := w.forge.NewRepository(a[0], a[1])
			if err == nil {
				_, err = r.Commit("main", "first", readFiles(ts, a[2]))
			}
			return err
		},
		"fork":          func(a []string) error { _, err := w.repo.Fork(a[0], a[1]); return err },
		"issue":         func(a []string) error { w.repo.NewIssue(a[0], a[1], a[2], a[3:]...); return nil },
		"comment":       func(a []string) error { w.repo.NewComment(number(ts, a[0]), a[1], a[2]); return nil },
		"review":        func(a []string) error { return w.repo.Review(number(ts, a[0]), a[1], a[2]) },
		"lock":          func(a []string) error { w.repo.Lock(number(ts, a[0])); return nil },
		"open":          func(a []string) error { w.repo.NewPull(a[0], a[1], a[2], a[3], a[4]); return nil },
		"merge":         func(a []string) error { _, err := w.repo.Merge(number(ts, a[0])); return err },
		"squash-merge":  func(a []string) error { _, err := w.repo.SquashMerge(number(ts, a[0])); return err },
		"rebase-merge":  func(a []string) error { _, err := w.repo.RebaseMerge(number(ts, a[0])); return err },
		"retarget":      func(a []string) error { return w.repo.Retarget(number(ts, a[0]), a[1]) },
		"title":         func(a []string) error { return w.repo.Retitle(number(ts, a[0]), a[1]) },
		"put":           func(a []string) error { return w.repo.Edit(a[0], a[1], &a[2]) },
		"drop":          func(a []string) error { return w.repo.Edit(a[0], a[1], nil) },
		"amend":         func(a []string) error { return w.repo.Amend(a[0], a[1], a[2]) },
		"proposed":      func(a []string) error { return writeLines(ts, "proposed.txt", w.repo.Proposed(a[0], a[1])) },
		"close":         func(a []string) error { return w.repo.ClosePull(number(ts, a[0])) },
		"close-issue":   func(a []string) error { w.repo.CloseIssue(number(ts, a[0])); return nil },
		"delete-branch": func(a []string) error { return w.repo.DeleteBranch(a[0]) },
		"tree": func(a []string) error {
			_, err := w.repo.Commit(a[0], "somebody else", readFiles(ts, a[1]))
			return err
		},
		"check": func(a []string) error {
			w.repo.SetCI(func(string, int) []fakegithub.Check { return []fakegithub.Check{checkOf(a)} })
			return nil
		},
		"check-second": func(a []string) error { w.repo.SetCI(secondPasses(a)); return nil },
		"no-checks": func([]string) error {
			w.repo.SetCI(func(string, int) []fakegithub.Check { return nil })
			return nil
		},
		"run": func(a []string) error {
			ts.Setenv("RUN", strconv.FormatInt(w.repo.NewRun(w.repo.Branch(a[0]), a[1], checkOf(a[2:])), 10))
			return nil
		},
		"event":    func(a []string) error { return writeEvent(ts, a[0]) },
		"web-page": func(a []string) error { webPage(w.forge, a[0], a[1], number(ts, a[2])); return nil },
		"comments": func(a []string) error { return writeLines(ts, "comments.txt", said(w.repo.Comments(number(ts, a[0])))) },
		"calls":    func([]string) error { return writeLines(ts, "calls.txt", calls(w.forge)) },
		"files":    func(a []string) error { return writeLines(ts, "files.txt", w.repo.Files(a[0])) },
		"log":      func(a []string) error { return writeLines(ts, "log.txt", logOf(w.repo, a[0], a[1])) },
		"logs": func([]string) error {
			n, tokens := w.forge.Logs()
			return writeLines(ts, "logs.txt", []string{fmt.Sprintf("fetched=%d tokens=%d", n, len(tokens))})
		},
	}
	deed := deeds[args[0]]
	if deed == nil {
		ts.Fatalf("github %s: no such deed", args[0])
	}
	ts.Check(deed(args[1:]))
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

func tokenOf(a []string) fakegithub.Token {
	t := fakegithub.Token{Value: a[0], Login: a[1]}
	for _, right := range a[2:] {
		if only, ok := strings.CutPrefix(right, "in:"); ok {
			t.Repositories = append(t.Repositories, only)
			continue
		}
		if t.Rights == nil {
			t.Rights = map[string]string{}
		}
		name, level, _ := strings.Cut(right, ":")
		t.Rights[name] = level
	}
	return t
}

// secondPasses fails for the first commit that is asked about, with a log, and
// passes for all others: NAME LOG.
func secondPasses(a []string) func(string, int) []fakegithub.Check {
	first := ""
	return func(sha string, _ int) []fakegithub.Check {
		if first == "" {
			first = sha
		}
		if sha == first {
			return []fakegithub.Check{checkOf([]string{a[0], "failure", a[1]})}
		}
		return []fakegithub.Check{checkOf([]string{a[0], "success", ""})}
	}
}

// checkOf is a finished check of the workflow CI: NAME CONCLUSION LOG.
func checkOf(a []string) fakegithub.Check {
	if a[1] == "pending" {
		return fakegithub.Check{Name: a[0], Workflow: "CI", Status: "in_progress"}
	}
	return fakegithub.Check{Name: a[0], Workflow: "CI", Status: "completed", Conclusion: a[1], Log: strings.ReplaceAll(a[2], `\n`, "\n")}
}

// writeEvent makes a file the payload of the event, with the repository's part
// added to it.
func writeEvent(ts *testscript.TestScript, file string) error {
	var event map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(ts.ReadFile(file), `"$RUN"`, ts.Getenv("RUN"))), &event); err != nil {
		return err
	}
	event["repository"] = map[string]any{"default_branch": "main", "full_name": owner + "/" + name}
	data, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return os.WriteFile(ts.MkAbs("runner/event.json"), data, 0o644)
}

// webPage answers calls with a page for people, as a proxy in front of a forge
// that is down does.
func webPage(f *fakegithub.Forge, method, part string, times int) {
	f.Fault(func(r *http.Request) bool { return r.Method == method && strings.Contains(r.URL.Path, part) }, times,
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<!DOCTYPE html><title>Down for maintenance</title>")
		})
}

func said(list []fakegithub.Comment) []string {
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("by=%s edits=%d", c.Author, c.Edits), c.Body, "---")
	}
	return lines
}

func calls(f *fakegithub.Forge) []string {
	var lines []string
	for _, c := range f.APICalls() {
		lines = append(lines, c.String())
	}
	return lines
}

func logOf(r *fakegithub.Repository, base, branch string) []string {
	var lines []string
	for _, c := range slices.Backward(r.Log(base, branch)) {
		lines = append(lines, c.Subject+" | "+c.Author)
	}
	return lines
}

func writeLines(ts *testscript.TestScript, file string, lines []string) error {
	return os.WriteFile(ts.MkAbs(file), []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
