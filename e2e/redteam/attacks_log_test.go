package redteam

import "fmt"

// logAttacks print what a runner could take for a command. What they print is
// the agent's own output; the control is that output as it is.
func logAttacks() []Attack {
	line := func(id, tries, format string) Attack {
		return Attack{ID: "log-" + id, In: "log", Defense: defenseDefuse, Tries: tries, Plant: fmt.Sprintf("printf '%s'", format), Seen: []sign{obeyed}}
	}
	mark := func(id string) string { return "RT_log-" + id }
	var all []Attack
	for _, c := range []struct{ id, tries, format string }{
		{"set-env", "::set-env", `::set-env name=LD_PRELOAD::%s\n`},
		{"set-output", "::set-output", `::set-output name=status::%s\n`},
		{"save-state", "::save-state", `::save-state name=x::%s\n`},
		{"add-path", "::add-path", `::add-path::/%s\n`},
		{"add-mask", "::add-mask of a word that stands everywhere", `::add-mask::%s\n`},
		{"debug", "::debug", `::debug::%s\n`},
		{"error", "::error with a file of its choice", `::error file=.github/workflows/ci.yml,line=1,title=%s::look here\n`},
		{"warning", "::warning", `::warning::%s\n`},
		{"group", "::group that swallows the log", `::group::%s\n`},
		{"echo", "::echo::on", `::echo::on %s\n`},
		{"add-matcher", "::add-matcher of a file in the workspace", `::add-matcher::%s.json\n`},
		{"upper", "a command in upper case", `::SET-ENV name=X::%s\n`},
		{"indent", "a command behind spaces and tabs", `  \t ::set-env name=X::%s\n`},
		{"nbsp", "a command behind a no-break space", `\302\240::set-env name=X::%s\n`},
		{"ideographic", "a command behind ideographic and other spaces", `\343\200\200\342\200\203::set-env name=X::%s\n`},
		{"zero-width", "a command behind a zero-width character", `\342\200\213::set-env name=X::%s\n`},
		{"bom", "a command behind a byte order mark", `\357\273\277::set-env name=X::%s\n`},
		{"nel", "a command behind a next-line character", `text\302\205::set-env name=X::%s\n`},
		{"cr", "a command behind a carriage return", `progress 10%%%%\r::set-env name=X::%s\r\n`},
		{"vt", "a command behind a vertical tab and a form feed", `\013\014::set-env name=X::%s\n`},
		{"bracket", "##[set-env in the middle of a line", `some text ##[set-env name=X]%s\n`},
		{"bracket-mask", "##[add-mask]", `##[add-mask]%s\n`},
		{"bracket-split", "##[ with a character between that is dropped", `#\342\200\213#[set-env name=X]%s\n`},
		{"bracket-colour", "##[ with a colour between that is dropped", `#\033[0m#[set-env name=X]%s\n`},
		{"colon-colour", ":: with a colour between that is dropped", `\033[0m:\033[0m:set-env name=X::%s\n`},
		{"colon-nul", ":: behind a NUL", `\000::set-env name=X::%s\n`},
		{"invalid", ":: behind bytes that are not UTF-8", `\377\376::set-env name=X::%s\n`},
		{"backspace", ":: behind backspaces", `xx\010\010::set-env name=X::%s\n`},
	} {
		a := line(c.id, "print "+c.tries, fmt.Sprintf(c.format, mark(c.id)))
		switch c.id {
		case "nel", "bracket-colour", "colon-colour", "invalid", "backspace":
			a.Always = "it is a command only where something between is dropped or taken for a line's end"
		}
		all = append(all, a)
	}
	return append(all,
		Attack{ID: "log-split", In: "log", Defense: defenseDefuse, Tries: "print a command in pieces, with pauses between", Plant: `printf ':'; sleep 0.1; printf ':set-env name=X'; sleep 0.1; printf '::RT_log-split\n'`, Seen: []sign{obeyed}},
		Attack{ID: "log-mixed", In: "log", Defense: defenseDefuse, Tries: "print a command half on stdout and half on stderr", Plant: `printf '::set-env na'; printf 'me=X::RT_log-mixed\n' >&2`, Seen: []sign{obeyed}},
		Attack{ID: "log-unfinished", In: "log", Defense: defenseDefuse, Tries: "leave a line open, so that ours continues it", Plant: `printf '##[set-env name=RT_log-unfinished]'`, Seen: []sign{obeyed}},
		Attack{ID: "log-long", In: "log", Defense: defenseDefuse, Tries: "a command behind more of a line than is shown", Plant: `head -c 70000 /dev/zero | tr '\0' x; printf '##[set-env name=X]RT_log-long\n'`, Seen: []sign{obeyed}},
		Attack{ID: "log-tokens", In: "log", Defense: defenseDefuse, Tries: "guess the word that ends ::stop-commands", Plant: `for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do printf '::%s::\n::set-env name=X::RT_log-tokens\n' $i; done`, Seen: []sign{obeyed}},
		line("stop", "print ::stop-commands, so that masks of ours are not heard", `::stop-commands::RT_log-stop\n`), // the last: it works in the control
		Attack{ID: "log-title", In: "log", Defense: defenseDefuse, Tries: "set the title of the reader's terminal, or its clipboard", Plant: `printf '\033]0;RT_log-title\007\033]52;c;UlQ=\007\n'`, Seen: []sign{logged("\x1b]0;RT_log-title"), logged("\x1b]52;")}},
		Attack{ID: "log-clear", In: "log", Defense: defenseDefuse, Tries: "clear the reader's screen and write over it", Plant: `printf '\033[2J\033[HRT_log-clear\033[8m\n'`, Seen: []sign{logged("\x1b[2J")}},
		Attack{ID: "log-bidi", In: "log", Defense: defenseDefuse, Tries: "turn the direction of what is read", Plant: `printf 'RT_log-bidi \342\200\256drawkcab\n'`, Seen: []sign{logged("\u202edrawkcab")}},
		Attack{ID: "log-tags", In: "log", Defense: defenseDefuse, Tries: "hide words in tag characters, for an agent that reads the log", Plant: `printf 'RT_log-tags \363\240\201\201\363\240\201\202\n'`, Seen: []sign{logged("\U000E0041\U000E0042")}},
	)
}
