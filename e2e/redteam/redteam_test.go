//go:build e2e

package redteam

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestRedteam runs every attack and prints the table. A hole and an attack that
// proves nothing are failures.
func TestRedteam(t *testing.T) {
	k := newKit(t)
	var mu sync.Mutex
	rows := map[string][]row{}
	defer func() { table(t, rows) }()
	t.Run("scenarios", func(t *testing.T) {
		for _, r := range scenarios() {
			var list []Attack
			for _, a := range attacks() {
				if a.In == r.name || machineGroups[a.In] == r.name && !a.Container {
					list = append(list, a)
				}
			}
			if r.machine {
				t.Run(r.name, func(t *testing.T) {
					t.Parallel()
					all := onMachines(t, k, r, list)
					mu.Lock()
					defer mu.Unlock()
					for _, row := range all {
						rows[row.ID] = append(rows[row.ID], row)
					}
				})
				continue
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
					sandboxed, control := r.enter(t, k, group, inContainer, false), r.enter(t, k, group, inContainer, true)
					keep(t, sandboxed, control)
					t.Logf("%d attacks, %s and %s", len(group), sandboxed.Took, control.Took)
					mu.Lock()
					defer mu.Unlock()
					for _, a := range group {
						rows[a.ID] = append(rows[a.ID], judge(a, sandboxed, control))
					}
				})
			}
		}
	})
}

// onMachines runs the attacks on three look-alike machines: with namespaces, without,
// and, where sudo is to be had, without a sandbox.
func onMachines(t *testing.T, k *kit, r scenario, list []Attack) []row {
	t.Helper()
	var control *world
	var worlds [len(columns)]*world
	var running sync.WaitGroup // no tests of their own: what they leave is looked at when all have ended
	running.Go(func() { control = r.enter(t, k, list, withNamespaces, true) })
	for _, where := range []column{withNamespaces, withoutNamespaces} {
		running.Go(func() { worlds[where] = r.enter(t, k, list, where, false) })
	}
	running.Wait()
	var all []row
	for _, where := range []column{withNamespaces, withoutNamespaces} {
		if worlds[where] == nil || control == nil {
			continue
		}
		keep(t, worlds[where], control)
		t.Logf("%s: %d attacks, %s and %s", columns[where], len(list), worlds[where].Took, control.Took)
		for _, a := range list {
			all = append(all, judge(a, worlds[where], control))
		}
	}
	return all
}

// notStarted is the exit code of docker run for an error of the engine's own.
const notStarted = 125

// judge says what became of an attack.
func judge(a Attack, sandboxed, control *world) row {
	r := row{Attack: a, Where: sandboxed.Where, Result: Held}
	got, why, ran := success(a, sandboxed)
	reached, _, _ := success(a, control)
	deed := control.Deeds[a.ID]
	switch {
	case got && a.Known != "" && (a.KnownIn == nil || slices.Contains(a.KnownIn, r.Where)):
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

// table prints the results, a column for each place, and keeps them as redteam.md.
func table(t *testing.T, rows map[string][]row) {
	t.Helper()
	var b strings.Builder
	b.WriteString("| Attack | What held it | " + strings.Join(columns[:], " | ") + " |\n| --- | --- |" + strings.Repeat(" --- |", len(columns)) + "\n")
	totals := [len(columns)]map[Result]int{{}, {}, {}}
	some := strings.Contains(flag.Lookup("test.run").Value.String(), "/") // not all were asked for
	for _, a := range attacks() {
		defense, said, cells := a.Defense, "", [len(columns)]string{"–", "–", "–"}
		for _, where := range a.columns() {
			i := slices.IndexFunc(rows[a.ID], func(r row) bool { return r.Where == where })
			r := row{Attack: a, Where: where, Result: NoProof, Why: "it was not run"}
			switch {
			case i >= 0:
				r = rows[a.ID][i]
			case some:
				continue
			}
			totals[where][r.Result]++
			cells[where] = string(r.Result)
			if r.Why != "" && r.Why != said {
				cells[where] += ": " + cell(r.Why)
			}
			said = r.Why
			if r.Result != Held {
				defense = "(" + strings.Trim(defense, "()") + ")"
			}
			if r.Result == Open || r.Result == NoProof {
				t.Errorf("%s (%s), %s: %s: %s", a.ID, a.Tries, columns[where], r.Result, r.Why)
			}
		}
		if some && len(rows[a.ID]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "| `%s` %s | %s | %s |\n", a.ID, cell(a.Tries), cell(defense), strings.Join(cells[:], " | "))
	}
	for where, name := range columns {
		n := totals[where]
		fmt.Fprintf(&b, "\n%s: %d attacks: %d held / %d open / %d no proof / %d not shown / %d not covered\n", name, n[Held]+n[Open]+n[NoProof]+n[NotShown]+n[Missing], n[Held], n[Open], n[NoProof], n[NotShown], n[Missing])
	}
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
