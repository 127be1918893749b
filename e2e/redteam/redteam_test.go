//go:build e2e

package redteam

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestRedteam runs every attack and prints the table. A hole and an attack that
// proves nothing are failures.
func TestRedteam(t *testing.T) {
	k := newKit(t)
	var mu sync.Mutex
	rows := map[string]row{}
	defer func() { table(t, rows) }()
	t.Run("scenarios", func(t *testing.T) {
		for _, r := range scenarios() {
			var list []Attack
			for _, a := range attacks() {
				if a.In == r.name {
					list = append(list, a)
				}
			}
			groups := [][]Attack{list}
			if r.own {
				groups = nil
				for _, a := range list {
					groups = append(groups, []Attack{a})
				}
			}
			for _, group := range groups {
				if len(group) == 0 {
					continue
				}
				name := r.name
				if r.own {
					name += "/" + group[0].ID
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					sandboxed, control := r.enter(t, k, group, false), r.enter(t, k, group, true)
					keep(t, sandboxed, control)
					t.Logf("%d attacks, %s and %s", len(group), sandboxed.Took, control.Took)
					mu.Lock()
					defer mu.Unlock()
					for _, a := range group {
						rows[a.ID] = judge(a, sandboxed, control)
					}
				})
			}
		}
	})
}

// notStarted is the exit code of docker run for an error of the engine's own.
const notStarted = 125

// judge says what became of an attack.
func judge(a Attack, sandboxed, control *world) row {
	r := row{Attack: a, Result: Held}
	got, why, ran := success(a, sandboxed)
	reached, _, _ := success(a, control)
	deed := control.Deeds[a.ID]
	switch {
	case got && a.Known != "":
		r.Result, r.Why = Missing, a.Known
	case got:
		r.Result, r.Why = Open, why
	case !ran && sandboxed.Asked && sandboxed.Code == notStarted:
		line, _, _ := strings.Cut(sandboxed.Log, "\n")
		r.Result, r.Why = NotShown, "the engine starts no such container: "+lastLine(line)
	case !ran:
		r.Result, r.Why = NoProof, "it did not run: "+why
	case reached:
		r.Why = "it succeeds without it"
	case a.Probe != "" && sandboxed.Probes[a.ID].Code == 0:
		r.Why = "the trick works where nothing stops it"
	case deed.Code == 77:
		r.Result, r.Why = NotShown, lastLine(deed.Output)
	case a.Engine != "":
		r.Result, r.Why = NotShown, a.Engine+": "+lastLine(deed.Output)
	case a.Always != "":
		r.Why = a.Always
	default:
		r.Result, r.Why = NoProof, fmt.Sprintf("without it: exit code %d, %q", deed.Code, lastLine(deed.Output+control.Plants[a.ID].Output))
	}
	return r
}

// success says whether an attack got what it wanted, and whether it ran at all.
func success(a Attack, w *world) (got bool, why string, ran bool) {
	for _, s := range a.Seen {
		if why := s(w, a); why != "" {
			return true, why, true
		}
	}
	deed, did := w.Deeds[a.ID]
	plant, planted := w.Plants[a.ID]
	if found := loot(deed.Output + plant.Output); found != "" {
		return true, found, true
	}
	if a.Plant != "" && (!planted || plant.Code != 0) {
		return false, "its preparation failed: " + lastLine(plant.Output), false
	}
	switch {
	case a.Script == "", a.Plant != "" && len(a.Seen) > 0 && strings.Contains(a.Script, "$RT_CONTROL"):
		return false, "", planted
	case !did && a.Mortal && !w.Control:
		return false, "", true
	case !did:
		return false, "there is no word of it; the run ended with " + fmt.Sprint(w.Code), false
	case len(a.Seen) > 0 && strings.Contains(a.Script, "$RT_CONTROL"): // what is seen outside decides
		return false, "", true
	}
	return deed.Code == 0, "it says: " + lastLine(deed.Output), true
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	s = s[strings.LastIndexByte(s, '\n')+1:]
	if len(s) > 160 {
		s = s[:160] + "…"
	}
	return s
}

// table prints the result and keeps it as redteam.md.
func table(t *testing.T, rows map[string]row) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| Attack | What held it | Result |\n| --- | --- | --- |\n")
	totals := map[Result]int{}
	some := strings.Contains(flag.Lookup("test.run").Value.String(), "/") // not all were asked for
	for _, a := range attacks() {
		r, ok := rows[a.ID]
		if !ok && some {
			continue
		}
		if !ok {
			r = row{Attack: a, Result: NoProof, Why: "it was not run"}
		}
		totals[r.Result]++
		defense := a.Defense
		if r.Result != Held {
			defense = "(" + defense + ")"
		}
		result := string(r.Result)
		if r.Why != "" {
			result += ": " + r.Why
		}
		fmt.Fprintf(&b, "| `%s` %s | %s | %s |\n", a.ID, cell(a.Tries), cell(defense), cell(result))
		if r.Result == Open || r.Result == NoProof {
			t.Errorf("%s (%s): %s: %s", a.ID, a.Tries, r.Result, r.Why)
		}
	}
	fmt.Fprintf(&b, "\n%d attacks: %d held / %d open / %d no proof / %d not shown / %d not covered\n", totals[Held]+totals[Open]+totals[NoProof]+totals[NotShown]+totals[Missing], totals[Held], totals[Open], totals[NoProof], totals[NotShown], totals[Missing])
	fmt.Println(b.String())
	dir := os.Getenv("RALPH_REDTEAM_DIR")
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "redteam.md"), []byte("# Attacks\n\n"+b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// keep writes the logs down for whoever has to look.
func keep(t *testing.T, worlds ...*world) {
	t.Helper()
	dir := os.Getenv("RALPH_REDTEAM_DIR")
	if dir == "" {
		return
	}
	for _, w := range worlds {
		var b strings.Builder
		fmt.Fprintf(&b, "exit code %d, %d bytes of log\n%.200000s\n", w.Code, len(w.Log), w.Log)
		for _, deeds := range []map[string]Deed{w.Plants, w.Deeds, w.Probes} {
			for id, d := range deeds {
				fmt.Fprintf(&b, "--- %s: code %d, %d ms\n%.2000s\n", id, d.Code, d.Millis, d.Output)
			}
		}
		_ = filepath.WalkDir(filepath.Join(w.Workspace, ".ralph"), func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				fmt.Fprintf(&b, "left: %s\n", strings.TrimPrefix(path, w.Workspace))
			}
			return nil
		})
		for where, text := range w.texts() {
			fmt.Fprintf(&b, "--- %s\n%.50000s\n", where, text)
		}
		for _, c := range w.Contacts {
			fmt.Fprintf(&b, "contact %s %.500q\n", c.Where, c.Data)
		}
		for _, r := range w.Requests {
			fmt.Fprintf(&b, "forge %s %s %.200q\n", r.Method, r.Path, r.Body)
		}
		writeFiles(t, dir, map[string]string{w.Name + ".log": b.String()})
	}
}
