package redteam

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// leaverAttacks leave processes behind. The control, without a supervisor, finds
// them alive in its second iteration.
func leaverAttacks() []Attack {
	const alive = `cat /proc/[0-9]*/cmdline | tr '\0' '\n' | grep -qa "[r]edteam-$RT_ID-$RT_RUN"`
	leave := func(way, tries string) Attack {
		return Attack{ID: "stay-" + way, In: "inside", Defense: defenseSupervisor, Tries: tries, Plant: `$RT survive ` + way + ` "redteam-$RT_ID-$RT_RUN"`, Script: alive, Seen: []sign{survives}}
	}
	shell := func(id, tries, script string) Attack {
		return Attack{ID: "stay-" + id, In: "inside", Defense: defenseSupervisor, Tries: tries, Plant: script, Script: alive, Seen: []sign{survives}}
	}
	return []Attack{
		leave("setsid", "outlive the iteration in a session of its own, deaf to signals"),
		leave("pgrp", "outlive the iteration in a process group of its own"),
		leave("double", "outlive the iteration by a double fork"),
		leave("vfork", "outlive the iteration as a child of somebody else (CLONE_PARENT)"),
		leave("holder", "hold the agent's output open, so that nobody sees its end"),
		leave("stopped", "outlive the iteration stopped, so that it gets no signal"),
		shell("nohup", "outlive the iteration by nohup", `nohup $RT survive stay "redteam-$RT_ID-$RT_RUN" >/dev/null 2>&1 &`),
		shell("copy", "outlive the iteration under another program's name", `cp $RT .rt/bash; (setsid .rt/bash survive stay "redteam-$RT_ID-$RT_RUN" >/dev/null 2>&1 &)`),
		shell("many", "leave two hundred processes behind", `for i in $(seq 200); do setsid $RT survive stay "redteam-$RT_ID-$RT_RUN" >/dev/null 2>&1 & done; sleep 1`),
	}
}

// limitAttacks use up what everybody needs. Each has a run of its own, and the
// container has limits of its own, for the sake of the machine.
func limitAttacks() []Attack {
	return []Attack{
		{ID: "fork-bomb", In: "own", Defense: defenseLimits, Tries: "start processes until there is no room for more", Seconds: 30, Script: `n=0; while [ $n -lt 700 ]; do sleep 60 & n=$((n+1)); done; sleep 0.3; ls -d /proc/[0-9]* | wc -l | { read c; echo "$c processes"; [ "$c" -gt 600 ]; }`},
		{ID: "flood", In: "flood", Defense: defenseLimits, Tries: "print 24 MB, so that memory overflows and nobody sees the end", Seconds: 60, Plant: `$RT flood 24`, Seen: []sign{ended(0), overflowed, pagedWhole}, Always: "what it prints is the flood, whoever reads it"},
		{ID: "flood-line", In: "flood", Defense: defenseLimits, Tries: "print one line of 24 MB", Seconds: 60, Plant: `$RT flood 24 line`, Seen: []sign{logLarger(8 << 20), overflowed, pagedWhole}},
		{ID: "memory", In: "own", Defense: defenseLimits, Tries: "take more memory than it may", Seconds: 40, Mortal: true, Script: `head -c 400000000 /dev/zero | tail -c 400000000 | wc -c | grep -q 400000000`},
		{ID: "deep", In: "flood", Defense: defenseLimits, Tries: "folders so deep that no path leads to the end of them", Seconds: 30, Plant: `for d in . "$HOME" "${TMPDIR:-/tmp}"; do (cd "$d"; perl -e 'for (1..150) { mkdir "deeper" x 10; chdir "deeper" x 10 or exit 1 }; open F, ">", "end"; print F "x"') || exit 1; done`, Seen: []sign{ended(0), slower(80)}, Always: "the folders are there, whoever looks at them"},
		{ID: "pipes", In: "flood", Defense: defenseRoot, Tries: "pipes that nobody writes to where ralph reads, so that it waits for ever", Seen: []sign{slower(80)},
			Plant:  `mkdir -p .ralph .github; for f in .ralph-active AGENTS.md .ralph/config .ralph/report.json .ralph/settings.json .ralph/lock .ralph/summary.md .github/ralph.yml TASK.md; do rm -f $f; mkfifo $f; done`,
			Script: `[ -z "$RT_CONTROL" ]`, Probe: `! timeout 1 cat TASK.md`},
		{ID: "disk", In: "own", Defense: defenseLimits, Tries: "fill the disk", Seconds: 60, Mortal: true, Script: `for i in 1 2 3; do head -c 100000000 /dev/zero >>fill.bin; sleep 2; done; ls -l fill.bin; [ $(stat -c %s fill.bin) -ge 300000000 ]; c=$?; rm -f fill.bin; exit $c`},
	}
}

// modesChanged are modes of the runner's files that are not what they were.
func modesChanged(w *world, _ Attack) string {
	for path := range w.Before {
		if info, err := os.Stat(path); err == nil && strings.HasPrefix(path, w.Commands) && info.Mode().Perm() != 0o644 {
			return filepath.Base(path) + " has the mode " + info.Mode().String()
		}
	}
	return ""
}

// timesChanged are times of the event file from long ago.
func timesChanged(w *world, _ Attack) string {
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(w.Workflow, "event.json"), &st); err == nil && st.Mtim.Sec < 1_100_000_000 {
		return "event.json has another time"
	}
	return ""
}

// logLarger is a log with more bytes than that.
func logLarger(n int) sign {
	return func(w *world, _ Attack) string {
		if len(w.Log) > n {
			return "the log has as much as was printed"
		}
		return ""
	}
}

// slower is a run that took longer than so many seconds.
func slower(seconds int) sign {
	return func(w *world, _ Attack) string {
		if limit := time.Duration(seconds) * time.Second; w.Took > limit {
			return "the run took longer than " + limit.String()
		}
		return ""
	}
}
