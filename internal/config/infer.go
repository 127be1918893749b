package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/shlex"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/config/file"
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
	case agent.given() && (!command.Infer || agent.rank >= command.rank):
		// Named: settings that start another known agent are not meant for it.
		if command.Infer && agent.rank > command.rank && found != "text" && !strings.EqualFold(strings.TrimSpace(agent.Text), found) {
			delete(values, "agent-command")
			for _, name := range []string{"agent-args", "agent-exact-args"} {
				if args := values[name]; args.Path == command.Path && args.from == fromFile {
					delete(values, name)
				}
			}
		}
		return
	case found == "text" && l.mode == ModeRun && !l.o.Local && !command.Infer:
		return // there agent-command replaces the program of the default agent
	}
	values["agent"] = value{from: command.from, rank: command.rank, Value: file.Value{Where: command.Where, Text: found, Key: command.Key, Kind: command.Kind}}
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
	if v.Node == nil {
		words, err := shlex.Split(v.Text)
		if err != nil {
			return nil
		}
		return words
	}
	var words []string
	for _, n := range v.Node.Content {
		words = append(words, file.Resolve(n).Value)
	}
	return words
}
