package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/shlex"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// inferAgent names the agent by the program that is started, when nobody named
// it. A command that is only the agent's plain name is none: it is what the
// agent would start anyway.
func (l *loader) inferAgent(values map[string]value) {
	command, ok := values["agent-command"]
	if !ok || l.mode == ModeSupervise {
		return
	}
	words := command.words()
	if len(words) == 0 {
		return
	}
	found, agent := l.infer(words), values["agent"]
	switch {
	case agent.given() && (!command.infer || agent.rank >= command.rank):
		// Named: settings that start another known agent are not meant for it.
		if command.infer && agent.rank > command.rank && found != "text" && !strings.EqualFold(strings.TrimSpace(agent.text), found) {
			delete(values, "agent-command")
			for _, name := range []string{"agent-args", "agent-exact-args"} {
				if args := values[name]; args.path == command.path && args.from == fromFile {
					delete(values, name)
				}
			}
		}
		return
	case found == "text" && l.mode == ModeRun && !l.o.Local && !command.infer:
		return // there agent-command replaces the program of the default agent
	}
	values["agent"] = value{from: command.from, where: command.where, text: found, key: command.key, rank: command.rank, kind: command.kind}
	if len(words) == 1 && words[0] == found && found != "text" {
		delete(values, "agent-command")
	}
}

func (l *loader) infer(words []string) string {
	if l.o.Infer != nil {
		return l.o.Infer(words)
	}
	base := strings.TrimSuffix(filepath.Base(words[0]), ".exe")
	if slices.Contains(catalog.Names(), base) {
		return base
	}
	return "text"
}

// words are those of a command, without a word about what is wrong with it.
func (v value) words() []string {
	if v.node == nil {
		words, err := shlex.Split(v.text)
		if err != nil {
			return nil
		}
		return words
	}
	var words []string
	for _, n := range v.node.Content {
		words = append(words, resolve(n).Value)
	}
	return words
}
