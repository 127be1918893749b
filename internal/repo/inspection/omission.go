package inspection

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// Omission is a group of paths that may not be published, for one reason.
type Omission struct {
	Reason  string
	Changes []store.Change
	Aside   bool     // they are no work of the run: nothing of that is missing
	Found   bool     // a finding tells the reason
	Names   []string // for people; none: those of Changes
}

// String names the first of the paths and the reason.
func (o Omission) String() string {
	all := slices.Clone(o.Names)
	if len(all) == 0 {
		for _, ch := range o.Changes {
			all = append(all, ch.Path)
		}
	}
	all = slices.Compact(all)
	var names []string
	for i, name := range all {
		if i == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		names = append(names, strconv.QuoteToGraphic(name))
	}
	return ralph.NotPublished + printable.Line(strings.Join(names, ", "), 1000) + ": " + o.Reason
}

// Missing describes what is left out of the run's work.
func Missing(o *objects.Objects, list ...Omission) []LeftOut {
	var out []LeftOut
	for _, one := range list {
		if one.Aside {
			continue
		}
		reason := one.Reason
		if one.Found {
			reason = ""
		}
		for _, c := range Describe(o, one.Changes, plumbing.ZeroHash) {
			out = append(out, LeftOut{Changed: c, Reason: reason})
		}
	}
	return out
}
