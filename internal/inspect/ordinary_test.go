//go:build ordinary

package inspect

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect/content"
	"github.com/org/ralph-action/internal/inspect/testintegrity"
	"github.com/org/ralph-action/internal/ralph"
)

// TestOrdinaryCommits measures false alarms: it inspects commits of the git
// repositories in ORDINARY_REPOS (directories, separated by spaces), spread over
// their history, as if an agent had made them, with the action's defaults, and logs how many are
// flagged, left out in part or blocked, by rule, and a sample of the findings to judge by
// reading. ORDINARY_SEED says which commits and which sample.
// ORDINARY_COMMITS is how many of each repository, 1000 unless set;
// ORDINARY_GUARDRAILS holds guardrails, separated by semicolons;
// ORDINARY_SECRETS=off leaves out the scan for secrets, which takes most of the time;
// ORDINARY_OUT names a file for all findings.
func TestOrdinaryCommits(t *testing.T) {
	repos := strings.Fields(os.Getenv("ORDINARY_REPOS"))
	if len(repos) == 0 {
		t.Fatal("set ORDINARY_REPOS to the directories of git repositories")
	}
	commits, err := strconv.Atoi(cmp.Or(os.Getenv("ORDINARY_COMMITS"), "1000"))
	if err != nil {
		t.Fatalf("ORDINARY_COMMITS: %v", err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("ORDINARY_SEED"), "1"), 10, 64)
	if err != nil {
		t.Fatalf("ORDINARY_SEED: %v", err)
	}
	o := ordinary{t: t, cfg: actionDefaults(t), rules: map[string]int{}, alone: map[string]int{}, draw: rand.New(rand.NewPCG(seed, 1)), pick: rand.New(rand.NewPCG(seed, 2))}
	if path := os.Getenv("ORDINARY_OUT"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		o.out = f
	}
	for _, dir := range repos {
		o.repository(dir, commits)
	}
	o.tell("all", o.sum)
	for _, rule := range slices.SortedFunc(maps.Keys(o.rules), func(a, b string) int { return cmp.Or(o.rules[b]-o.rules[a], strings.Compare(a, b)) }) {
		t.Logf("%5d commits, %4d of them with nothing else: %s", o.rules[rule], o.alone[rule], rule)
	}
	o.pick.Shuffle(len(o.samples), func(i, j int) { o.samples[i], o.samples[j] = o.samples[j], o.samples[i] })
	for _, s := range o.samples[:min(len(o.samples), 60)] {
		t.Log(s)
	}
}

// actionDefaults is the configuration of a run of the action to which only a prompt is given,
// and what the variables of the environment change in it.
func actionDefaults(t *testing.T) config.Config {
	cfg, err := config.Load(config.LoadOptions{Dir: t.TempDir(), Inputs: map[string]string{"prompt": "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ORDINARY_SECRETS") == "off" {
		cfg.Content.SecretScan = config.ContentOff
	}
	for g := range strings.SplitSeq(os.Getenv("ORDINARY_GUARDRAILS"), ";") {
		if g != "" {
			cfg.Checks.Guardrails = append(cfg.Checks.Guardrails, config.Guardrail{Command: g})
		}
	}
	return cfg
}

// tally counts commits, each as the gravest severity that was found in it and,
// apart from that, as flagged.
type tally struct{ commits, blocked, leftOut, draft, flagged int }

// ordinary is a measurement.
type ordinary struct {
	t            *testing.T
	cfg          config.Config
	sum          tally
	draw, pick   *rand.Rand // of commits, whatever is found, and of findings
	rules, alone map[string]int
	samples      []string // one finding of each flagged commit
	out          io.Writer
}

func (o *ordinary) tell(name string, n tally) {
	share := func(k int) float64 { return 100 * float64(k) / float64(max(1, n.commits)) }
	o.t.Logf("%-28s %6d commits: blocked %d (%.2f %%), left out %d (%.2f %%), draft %d (%.2f %%), flagged %d (%.2f %%)",
		name, n.commits, n.blocked, share(n.blocked), n.leftOut, share(n.leftOut), n.draft, share(n.draft), n.flagged, share(n.flagged))
}

func (o *ordinary) repository(dir string, commits int) {
	git := func(stdin string, args ...string) []byte {
		cmd := exec.CommandContext(o.t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			o.t.Fatalf("git %v in %s: %v", args, dir, err)
		}
		return out
	}
	var list strings.Builder
	all := strings.Fields(string(git("", "rev-list", "--no-merges", "--min-parents=1", "HEAD")))
	first := o.draw.Float64()
	for i := range min(commits, len(all)) { // over all of the history
		fmt.Fprintln(&list, all[int((float64(i)+first)*float64(len(all))/float64(min(commits, len(all))))])
	}
	raw := strings.Split(string(git(list.String(), "diff-tree", "--stdin", "-r", "-z", "-M100%", "--no-abbrev")), "\x00")
	blobs := openContents(o.t, dir)
	name, n := filepath.Base(filepath.Dir(filepath.Join(dir, "x"))), tally{}
	if name == "repo" || name == ".git" {
		name = filepath.Base(filepath.Dir(dir))
	}
	for i := 0; i < len(raw) && raw[i] != ""; {
		commit := raw[i]
		var files []testintegrity.File
		var changes []content.File
		for i++; i < len(raw) && strings.HasPrefix(raw[i], ":"); i++ {
			head := strings.Fields(raw[i][1:]) // modes, ids, status
			i++
			f := content.File{Path: raw[i], OldMode: mode(head[0]), NewMode: mode(head[1])}
			if strings.HasPrefix(head[4], "R") {
				f.From = f.Path
				i++
				f.Path = raw[i]
			}
			old, now := blobs.read(head[2], f.OldMode), blobs.read(head[3], f.NewMode)
			f.Size = int64(len(now))
			changes = append(changes, f)
			files = append(files, testintegrity.File{Path: f.Path, From: f.From, Old: old, New: now, Deleted: f.NewMode == 0, Added: f.OldMode == 0})
		}
		n.commits++
		o.commit(name+" "+commit[:10], inspectAll(o.t, o.cfg, files, changes, func(path string) []byte { return blobs.read(commit+"^:"+path, 0o100644) }), &n)
	}
	o.tell(name, n)
	o.sum = tally{o.sum.commits + n.commits, o.sum.blocked + n.blocked, o.sum.leftOut + n.leftOut, o.sum.draft + n.draft, o.sum.flagged + n.flagged}
}

// inspectAll is what a run of a configuration would find in a change.
func inspectAll(t *testing.T, cfg config.Config, files []testintegrity.File, changes []content.File, base func(string) []byte) []ralph.Finding {
	in, err := New(cfg.Content, cfg.Checks.Guardrails, nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []ralph.Finding
	out := map[string]bool{}
	changes = slices.DeleteFunc(changes, func(f content.File) bool {
		if out[f.Path] = in.policy.LeavesOut(f.Path) || f.From != "" && in.policy.LeavesOut(f.From); out[f.Path] {
			found = append(found, in.policy.LeftOut(f))
		}
		return out[f.Path]
	})
	found = append(found, in.policy.Judge(content.Work{Total: changes, Run: changes, Since: changes})...)
	for _, f := range files {
		if out[f.Path] {
			continue
		}
		if cfg.Content.SecretScan != config.ContentOff && !f.Deleted {
			found = append(found, in.texts(in.scanner.File(f.Path, f.Old, f.New), f.Path, "")...)
		}
		if len(f.Old) <= maxVersion && len(f.New) <= maxVersion {
			in.work = append(in.work, f)
		}
	}
	weakened, _ := in.Weakened(base)
	return Sorted(append(found, weakened...))
}

// commit counts what was found in one.
func (o *ordinary) commit(name string, found []ralph.Finding, n *tally) {
	severities, rules := map[ralph.Severity]bool{}, map[string]bool{}
	var flags []string
	for _, f := range found {
		severities[f.Severity] = true
		rules[fmt.Sprintf("%s %s [%s]", f.Severity, f.Kind, f.Rule)] = true
		line := fmt.Sprintf("%s %s %s:%d [%s] %s", name, f.Severity, f.Path, f.Line, f.Rule, f.Text)
		if f.Severity == ralph.Flag {
			flags = append(flags, line)
		}
		if o.out != nil {
			fmt.Fprintln(o.out, line)
		}
	}
	for rule := range rules {
		if o.rules[rule]++; len(rules) == 1 {
			o.alone[rule]++
		}
	}
	switch {
	case severities[ralph.Block]:
		n.blocked++
	case severities[ralph.LeftOut]:
		n.leftOut++
	case severities[ralph.Draft]:
		n.draft++
	}
	if len(flags) > 0 {
		n.flagged++
		o.samples = append(o.samples, flags[o.pick.IntN(len(flags))])
	}
}

func mode(octal string) uint32 {
	n, _ := strconv.ParseUint(octal, 8, 32) // git wrote it
	return uint32(n)
}

// contents reads contents, by git cat-file --batch.
type contents struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func openContents(t *testing.T, dir string) *contents {
	cmd := exec.CommandContext(t.Context(), "git", "-C", dir, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return &contents{t, in, bufio.NewReader(out)}
}

// read is a content; nil where there is no such file.
func (o *contents) read(name string, mode uint32) []byte {
	if mode == 0 || mode == 0o160000 {
		return nil
	}
	fmt.Fprintln(o.in, name)
	head, err := o.out.ReadString('\n')
	if err != nil {
		o.t.Fatal(err)
	}
	fields := strings.Fields(head)
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return nil // missing
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(o.out, data); err != nil {
		o.t.Fatal(err)
	}
	return data[:size:size]
}
