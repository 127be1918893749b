package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/fanout"
)

// lanesMain works lanes off with real git, in place of jobs: lanes DIR CLONE WAVE
// L001=US-001,US-002 …. A story is what 'sh lane.sh ID LANE' does in the clone, at whose HEAD
// all lanes begin.
func lanesMain() {
	if err := lanes(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lanes:", err)
		os.Exit(1)
	}
}

func lanes(args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("too few arguments: %q", args)
	}
	dir, clone := args[0], args[1]
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = clone
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s %q: %w\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out)), nil
	}
	git := func(args ...string) (string, error) {
		return run("git", append([]string{"-c", "pack.window=0", "-c", "user.name=Lane", "-c", "user.email=lane@example.com"}, args...)...)
	}
	base, err := git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(clone, "ralph", "tasks.json"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(list)
	plan := fanout.Plan{Version: 1, Dir: "ralph", Waves: 3, Later: []fanout.Wait{}, Parts: []fanout.Part{{Branch: "ralph/shop", Base: base, Digest: hex.EncodeToString(sum[:])}}}
	if _, err := fmt.Sscan(args[2], &plan.Wave); err != nil {
		return err
	}
	part := &plan.Parts[0]
	for _, spec := range args[3:] {
		name, stories, _ := strings.Cut(spec, "=")
		part.Lanes = append(part.Lanes, fanout.Lane{Name: name, Stories: strings.Split(stories, ","), Estimate: 3})
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, fanout.PlanName), plan.Encode(), 0o644); err != nil {
		return err
	}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range part.Lanes {
		l := &part.Lanes[i]
		r := fanout.Result{Version: 1, Key: plan.Key(l), Base: base, Digest: part.Digest, Sequence: 1, Outcome: "completed", Started: began, Ended: began.Add(time.Hour)}
		if _, err := git("checkout", "-q", "-B", r.Key, base); err != nil {
			return err
		}
		for _, id := range l.Stories {
			if _, err := run("sh", "lane.sh", id, l.Name); err != nil {
				return err
			}
			if _, err := git("add", "-A"); err != nil {
				return err
			}
			if _, err := git("commit", "-q", "-m", fmt.Sprintf("feat: [%s]\n\nRalph-Story: %s\nRalph-Base: %s\n", id, id, base)); err != nil {
				return err
			}
			at, err := git("rev-parse", "HEAD")
			if err != nil {
				return err
			}
			r.Stories = append(r.Stories, fanout.Done{ID: id, State: "approved", Commit: at, Reviews: 1, Iterations: 2, Started: began, Ended: began.Add(time.Minute), Cost: fanout.Cost{MicroUSD: 250_000}})
			r.Cost.MicroUSD += 300_000
		}
		folder := filepath.Join(dir, "ralph-lane-"+r.Key+"-1-1")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		file, err := filepath.Abs(filepath.Join(folder, fanout.BundleName))
		if err != nil {
			return err
		}
		if _, err := git("bundle", "create", "-q", file, "refs/heads/"+r.Key, "^"+base); err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		r.Bundle = hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(folder, fanout.ResultName), r.Encode(), 0o644); err != nil {
			return err
		}
	}
	_, err = git("checkout", "-q", "--detach", base)
	return err
}
