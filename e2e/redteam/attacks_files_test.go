package redteam

func fileAttacks() []Attack {
	return []Attack{
		{ID: "socket-ask", In: "inside", Defense: defenseLandlock, Tries: "ask the engine by /var/run/docker.sock", Script: `$RT connect unix /var/run/docker.sock`, Seen: []sign{arrived}},
		{ID: "socket-open", Container: true, In: "inside", Defense: defenseUser, Tries: "find the engine's socket writable", Script: `[ -w /var/run/docker.sock ]`},
		{ID: "event-read", In: "inside", Defense: defenseLandlock, Tries: "read /github/workflow/event.json", Script: `cat /github/workflow/event.json`},
		{ID: "event-second", In: "inside", Defense: defenseLandlock, Tries: "read the event below /github/runner_temp", Script: `cat /github/runner_temp/_github_workflow/event.json`},
		{ID: "event-write", In: "inside", Defense: defenseLandlock, Tries: "change the event", Script: `echo RT_$RT_ID >>/github/workflow/event.json`, Seen: []sign{changed}},
		{ID: "temp-read", In: "inside", Defense: defenseLandlock, Tries: "read what other steps left in RUNNER_TEMP", Script: `cat /github/runner_temp/*.txt`},
		{ID: "temp-list", In: "inside", Defense: defenseLandlock, Tries: "list RUNNER_TEMP", Script: `ls /github/runner_temp | grep -q other-step`},
		{ID: "temp-write", In: "inside", Defense: defenseLandlock, Tries: "leave a file in RUNNER_TEMP for a later step", Script: `echo RT_$RT_ID >/github/runner_temp/$RT_ID`, Seen: []sign{strayed}},
		{ID: "home-read", In: "inside", Defense: defenseLandlock, Tries: "read /github/home/.netrc", Script: `cat /github/home/.netrc`},
		{ID: "home-write", In: "inside", Defense: defenseLandlock, Tries: "leave /github/home/.gitconfig for later steps", Script: `echo "# RT_$RT_ID" >/github/home/.gitconfig-$RT_ID`, Seen: []sign{strayed}},
		{ID: "home-own", In: "inside", Defense: defenseHome, Tries: "find another step's files in its HOME", Script: `cat "$HOME/.netrc"`},
		{ID: "token-config", In: "inside", Defense: defenseHidden, Tries: "read checkout's token in .git/config", Script: `cat .git/config .git/config.worktree`},
		{ID: "token-include", In: "inside", Defense: defenseHidden, Tries: "read checkout's token by git config, includes and all", Script: `git -c safe.directory='*' config --list | grep -aiE 'basic|includeif'`},
		{ID: "token-file", In: "inside", Defense: defenseLandlock, Tries: "read checkout's token in the included file", Script: `cat /github/runner_temp/git-credentials-*.config`},
		{ID: "token-hidden", In: "inside", Defense: defenseUser, Tries: "read what was taken out, where it waits", Script: `cat .git/ralph-hidden/* .git/ralph-hidden`, Always: "there is such a folder only while ralph runs"},
		{ID: "token-fetch", In: "inside", Defense: defenseHidden, Tries: "let git fetch with checkout's token", Script: `git -c safe.directory='*' -c http.proxy= ls-remote origin`},
		{ID: "token-helper", In: "inside", Defense: defenseHidden, Tries: "ask git's credential helpers for a password", Script: `printf 'protocol=http\nhost=forge.redteam.test\n' | GIT_TERMINAL_PROMPT=0 git -c safe.directory='*' credential fill | grep password`, Probe: `printf 'protocol=http\nhost=x\n' | GIT_TERMINAL_PROMPT=0 git -c credential.helper='!f() { echo username=a; echo password=b; }; f' credential fill | grep password`},
		{ID: "outside-write", In: "inside", Defense: defenseLandlock, Tries: "write outside of the workspace", Script: `true >/github/redteam-$RT_ID || true >/redteam-$RT_ID`},
		{ID: "outside-tmp", Container: true, In: "inside", Defense: defenseHome, Tries: "leave a file in the container's /tmp", Script: `: >/tmp/redteam-$RT_ID`, Known: "in the container only the agent uses /tmp, which is removed with the run"},
		{ID: "rename-out", In: "inside", Defense: defenseLandlock, Tries: "move a file out of the workspace", Script: `echo RT_$RT_ID >rt-move && mv -f rt-move /github/file_commands/set_path_$RT_ID`},
		{ID: "link-out", In: "joined", Defense: defenseLandlock, Tries: "a hard link to the runner's file, then write to the link", Script: `ln /github/file_commands/set_env_1 rt-hard && echo RT_$RT_ID=1 >>rt-hard`, Seen: []sign{changed}},
		{ID: "link-through", In: "inside", Defense: defenseLandlock, Tries: "read the event through a symbolic link in the workspace", Script: `ln -sf /github/workflow/event.json rt-soft && cat rt-soft; c=$?; rm -f rt-soft; exit $c`},
		{ID: "temp-watch", In: "inside", Defense: defenseLandlock, Tries: "be told of what happens in RUNNER_TEMP", Script: `$RT sys inotify`, Known: "Landlock covers reading and writing, not notifications of them", KnownIn: []column{inContainer, withoutNamespaces}},
		{ID: "ipc-left", In: "inside", Defense: defenseHome, Tries: "leave a message in a queue of System V for the next iteration",
			Plant:  `perl -e 'msgsnd(msgget(0x5254, 0666 | 01000) // exit(1), pack("l! a*", 1, "RT"), 0) or exit 1'`,
			Script: `perl -e 'defined msgget(0x5254, 0) or exit 1'`, Known: "the next turn finds what an agent left: a fresh context is a fresh conversation, not a fresh machine"},
		{ID: "shm-left", In: "inside", Defense: defenseHome, Tries: "leave a message in /dev/shm for the next iteration", Plant: `echo RT_$RT_ID >/dev/shm/$RT_ID`, Script: `grep -q RT_ /dev/shm/$RT_ID`, Known: "the next turn finds what an agent left: a fresh context is a fresh conversation, not a fresh machine"},
	}
}

// runnerFileAttacks write to what the runner reads after the step.
func runnerFileAttacks() []Attack {
	const defense = defenseLandlock + "; " + defenseOpened
	const metadata = "Landlock does not restrict modes and times, and the files belong to the agent's user; their contents are checked"
	var all []Attack
	for _, f := range []struct{ variable, file, line string }{
		{"GITHUB_OUTPUT", "set_output_1", "RT_$RT_ID=forged"}, {"GITHUB_ENV", "set_env_1", "LD_PRELOAD=RT_$RT_ID"}, {"GITHUB_PATH", "add_path_1", "/RT_$RT_ID"},
		{"GITHUB_STATE", "save_state_1", "RT_$RT_ID=forged"}, {"GITHUB_STEP_SUMMARY", "step_summary_1", "# RT_$RT_ID"},
	} {
		all = append(all,
			Attack{ID: "append-" + f.file, In: "inside", Defense: defense, Tries: "append to " + f.variable, Script: `echo "` + f.line + `" >>/github/file_commands/` + f.file, Seen: []sign{changed}},
			Attack{ID: "second-" + f.file, In: "inside", Defense: defense, Tries: "append to " + f.variable + " below RUNNER_TEMP", Script: `echo "` + f.line + `" >>/github/runner_temp/_runner_file_commands/` + f.file, Seen: []sign{changed}},
		)
	}
	return append(all,
		Attack{ID: "output-heredoc", In: "inside", Defense: defense, Tries: "open a heredoc in GITHUB_OUTPUT that swallows what follows", Script: `printf 'RT_%s<<EOF\n' $RT_ID >>/github/file_commands/set_output_1`, Seen: []sign{changed}},
		Attack{ID: "output-truncate", In: "inside", Defense: defense, Tries: "truncate GITHUB_OUTPUT", Script: `: >/github/file_commands/set_output_1`},
		Attack{ID: "output-replace", In: "inside", Defense: defense, Tries: "put another file in place of GITHUB_OUTPUT", Script: `echo RT_$RT_ID=1 >/github/file_commands/x && mv /github/file_commands/x /github/file_commands/set_output_1`, Seen: []sign{changed}},
		Attack{ID: "output-remove", In: "inside", Defense: defense, Tries: "remove GITHUB_OUTPUT", Script: `cp -p /github/file_commands/set_output_1 rt-copy && rm /github/file_commands/set_output_1; c=$?; [ -e /github/file_commands/set_output_1 ] || cp rt-copy /github/file_commands/set_output_1; exit $c`},
		Attack{ID: "output-link", In: "inside", Defense: defense, Tries: "a link in place of GITHUB_OUTPUT, for the host to write through", Script: `ln -sf /github/file_commands/set_env_1 /github/file_commands/set_output_$RT_ID`, Seen: []sign{strayed}},
		Attack{ID: "output-fd", In: "inside", Defense: defenseSeal, Tries: "write to the open file through the host process's descriptors", Script: `for f in /proc/$($RT pid host)/fd/[0-9]*; do case $(readlink $f) in *set_output*) echo RT_$RT_ID=1 >>$f && exit 0;; esac; done; [ -n "$RT_CONTROL" ]`, Seen: []sign{changed}, Always: "only ralph holds the file open"},
		Attack{ID: "env-variable", In: "inside", Defense: defenseEnv, Tries: "find the runner's files by GITHUB_ENV and the like", Script: `env | grep -E '^(GITHUB_(ENV|OUTPUT|PATH|STATE|STEP_SUMMARY|TOKEN)|ACTIONS_|INPUT_|RUNNER_TEMP)'`},
		Attack{ID: "output-mode", In: "modes", Defense: defenseOpened, Tries: "take the runner's files away by their modes, which Landlock does not cover", Script: `chmod 000 /github/file_commands/set_output_1 /github/file_commands/set_env_1`, Seen: []sign{modesChanged}, Known: metadata},
		Attack{ID: "output-time", In: "modes", Defense: defenseOpened, Tries: "change the times of the event, which Landlock does not cover", Script: `touch -d 2001-01-01 /github/workflow/event.json`, Seen: []sign{timesChanged}, Known: metadata},
	)
}
