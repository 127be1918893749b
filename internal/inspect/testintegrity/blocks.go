package testintegrity

import (
	"bytes"
	"strings"
)

// target is one of a Makefile or a justfile.
type target struct {
	text  string
	order int
}

// branch finds lines between those of a target that belong to it.
var branch = re(`^(?:ifn?def|ifn?eq|else|endif)\b`)

// blocks takes a Makefile and its kin apart: the text of each target, its
// first line included; what belongs to none is that of "".
func blocks(name string, text []byte) map[string]target {
	texts, order := map[string]*strings.Builder{}, map[string]int{}
	current := []string{""}
	put := func(line []byte) {
		for _, t := range current {
			if texts[t] == nil {
				texts[t], order[t] = &strings.Builder{}, len(texts)
			}
			if texts[t].Len() < maxBody {
				texts[t].Write(line)
				texts[t].WriteByte('\n')
			}
		}
	}
	for line := range bytes.Lines(text[:min(len(text), maxFile)]) {
		line = bytes.TrimRight(line, " \t\r\n")
		trimmed := bytes.TrimLeft(line, " \t")
		if len(trimmed) == 0 || trimmed[0] == '#' {
			continue
		}
		head, rest, colon := bytes.Cut(trimmed, []byte(":"))
		if len(line) == len(trimmed) && !branch.Match(trimmed) {
			current = []string{""}
			if colon && !bytes.HasPrefix(rest, []byte("=")) && !bytes.ContainsAny(head, "=?+!") {
				if names := strings.Fields(strings.TrimPrefix(string(head), "@")); len(names) > 0 && names[0] != ".PHONY" {
					if current = names[:min(len(names), 20)]; !strings.HasPrefix(name, "M") && !strings.HasPrefix(name, "m") && !strings.HasPrefix(name, "G") {
						current = names[:1] // just: the others are parameters
					}
				}
			}
			if len(head) > 0 && strings.HasPrefix(string(head), ".PHONY") {
				continue
			}
		}
		put(line)
	}
	out := map[string]target{}
	for t, text := range texts {
		out[t] = target{text.String(), order[t]}
	}
	return out
}

// first is the target that stands first.
func first(list map[string]target) string {
	best, at := "", -1
	for name, t := range list {
		if name != "" && !strings.HasPrefix(name, ".") && (at < 0 || t.order < at) {
			best, at = name, t.order
		}
	}
	return best
}
