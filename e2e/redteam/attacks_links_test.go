package redteam

import (
	"os"
	"path/filepath"
)

// linkAttacks put links where ralph reads and writes, for it to follow. The
// control shows what a program does that does not look: it writes to the path.
func linkAttacks() []Attack {
	link := func(id, what, path string) Attack {
		return Attack{
			ID: "link-" + id, In: "links", Defense: defenseRoot, Tries: "an outward link in place of " + what,
			Plant:  `mkdir -p .ralph && rm -rf ` + path + ` && ln -s /github/runner_temp/stray-$RT_ID ` + path,
			Script: `[ -z "$RT_CONTROL" ] || echo RT_$RT_ID >>` + path, Seen: []sign{strayed},
		}
	}
	own := func(id, tries, plant, script string, seen ...sign) Attack {
		return Attack{ID: "link-" + id, In: "links-own", Defense: defenseRoot, Tries: tries, Plant: plant, Script: script, Seen: seen}
	}
	return []Attack{
		link("guardrail-log", "a guardrail's log", ".ralph/guardrail_001_sh_guard_sh.log"),
		link("report-json", "the report", ".ralph/report.json"),
		link("report-html", "the page of the report", ".ralph/report.html"),
		link("summary", "the summary", ".ralph/summary.md"),
		{ID: "link-session-log", In: "links", Defense: defenseRoot, Tries: "outward links in place of the session's log, now and later",
			Plant:  `mkdir -p .ralph && for f in .ralph/session-*.log $(for i in $(seq 0 90); do date -u -d "+$i sec" +.ralph/session-%Y%m%d-%H%M%S.log; done); do rm -f $f; ln -s /github/runner_temp/stray-$RT_ID $f; done`,
			Script: `[ -z "$RT_CONTROL" ] || for f in .ralph/session-*.log; do echo RT_$RT_ID >>$f; done`, Seen: []sign{strayed}},
		link("lock", "the lock", ".ralph/lock"),
		link("ignore", "the folder's .gitignore", ".ralph/.gitignore"),
		link("patch", "the work that was not published", ".ralph/unpublished.patch"),
		link("logs", "the folder of logs", ".ralph/logs"),
		link("marker", "the mark of an active run", ".ralph-active"),
		own("folder", "a link to RUNNER_TEMP in place of .ralph", `rm -rf .ralph && ln -s /github/runner_temp .ralph`, `[ -z "$RT_CONTROL" ] || echo x >>.ralph/report.json`, intruded),
		own("folder-race", "exchange .ralph and a link, again and again, while a guardrail runs", `mkdir -p .ralph; true`, `[ -z "$RT_CONTROL" ] || { sh guard.sh & for i in $(seq 200); do echo x >>.ralph/report.json; sleep 0.005; done; wait; }`, intruded),
		own("prompt", "a link to the event in place of the prompt's file", `ln -sf /github/workflow/event.json TASK.md`, `[ -n "$RT_CONTROL" ] && cat TASK.md >/github/runner_temp/prompt-read`, intruded, promptHas),
		own("git", "a link to RUNNER_TEMP in place of .git", `mv .git .git-real && ln -s /github/runner_temp .git`, `[ -z "$RT_CONTROL" ] || git init -q .`, intruded),
		own("git-file", "a .git file that leads to a repository of the agent's", `mv .git .git-real && git init -q --bare .evil.git && git -C .evil.git config core.fsmonitor /opt/redteam/trap.sh && echo 'gitdir: .evil.git' >.git`, `[ -z "$RT_CONTROL" ] || echo RT >/github/runner_temp/x`, intruded),
		own("workspace-file", "a file of the tree that is a link when git looks and a file when ralph does", `ln -s /github/workflow/event.json leak.txt`, `[ -z "$RT_CONTROL" ] || cat leak.txt >/github/runner_temp/leaked`, intruded, eventPublished),
	}
}

// eventPublished is the job's event in what the forge got.
func eventPublished(w *world, _ Attack) string {
	if found := loot(w.Objects + w.Pulls); found != "" {
		return found + ", on the forge"
	}
	return ""
}

// promptHas is a canary in what the agent was told.
func promptHas(w *world, _ Attack) string {
	paths, _ := filepath.Glob(filepath.Join(w.Workspace, ".rt", "prompt-*"))
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && loot(string(data)) != "" {
			return loot(string(data)) + ", in the next prompt"
		}
	}
	return ""
}
