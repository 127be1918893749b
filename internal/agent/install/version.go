package install

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// checkEngines compares node with what the package asks for. A program that is
// no script does not need it once it is installed.
func (s *stage) checkEngines(ctx context.Context, m metadata) error {
	want := m.Engines["node"]
	if want == "" {
		return nil
	}
	a, err := s.run(ctx, s.tree, versionTime, "node", "--version")
	if err == nil {
		err = a.failed(s.pkg, "node --version")
	}
	if err != nil {
		return err
	}
	have := strings.TrimPrefix(strings.TrimSpace(a.stdout), "v")
	if !exactForm.MatchString(have) || satisfies(have, want) {
		return nil
	}
	file, ok := m.Bin.of(s.pkg)
	switch filepath.Ext(file) {
	case ".js", ".cjs", ".mjs", "":
		if ok {
			return fmt.Errorf("%s needs node %.100q, and the node on PATH is %s: install a newer Node.js (in a workflow with actions/setup-node), or ask for an older version", s.pkg, want, have)
		}
	}
	s.o.say(fmt.Sprintf("%s asks for node %.100q, and the node on PATH is %s. It is tried all the same.", s.pkg, want, have))
	return nil
}

// part is a version of which the end may be left open.
type part struct {
	n   [3]int
	set int // how many of n were given
	pre string
}

var partForm = lazyregexp.New(`^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`)

func parsePart(text string) (p part, ok bool) {
	for _, open := range []string{".x", ".X", ".*"} {
		text = strings.ReplaceAll(text, open, "")
	}
	if text == "" || text == "*" || text == "x" || text == "X" {
		return part{}, true
	}
	found := partForm.FindStringSubmatch(text)
	if found == nil {
		return part{}, false
	}
	for i := range p.n {
		if found[i+1] == "" {
			break
		}
		p.n[i], _ = strconv.Atoi(found[i+1]) // nine digits at most
		p.set++
	}
	p.pre = found[4]
	return p, true
}

func (p part) compare(q part) int {
	for i := range p.n {
		if c := cmp.Compare(p.n[i], q.n[i]); c != 0 {
			return c
		}
	}
	switch {
	case p.pre == q.pre:
		return 0
	case p.pre == "":
		return 1 // a release comes after its previews
	case q.pre == "":
		return -1
	}
	return comparePre(strings.Split(p.pre, "."), strings.Split(q.pre, "."))
}

// comparePre compares as semver.org, 11.4, says: numbers by value and before
// words, and what is shorter first.
func comparePre(a, b []string) int {
	for i := range min(len(a), len(b)) {
		x, xErr := strconv.Atoi(a[i])
		y, yErr := strconv.Atoi(b[i])
		c := cmp.Compare(a[i], b[i])
		switch {
		case xErr == nil && yErr == nil:
			c = cmp.Compare(x, y)
		case xErr == nil:
			c = -1
		case yErr == nil:
			c = 1
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// next is the first version that a part with an open end no longer means; with
// keep parts of it held fast.
func (p part) next(keep int) part {
	if keep <= 0 {
		return part{n: [3]int{1 << 30}}
	}
	q := part{set: 3}
	copy(q.n[:keep], p.n[:keep])
	q.n[keep-1]++
	return q
}

// compare orders two exact versions.
func compare(a, b string) int {
	p, _ := parsePart(a)
	q, _ := parsePart(b)
	return p.compare(q)
}

var spaced = lazyregexp.New(`([<>=~^]+)\s+`)

// satisfies says whether a version lies in a range as npm writes them:
// ">=20", "^20.19.0 || >=22.12.0", "18.x", "16 - 20". What cannot be read is
// taken for satisfied: npm itself only warns.
func satisfies(version, ranges string) bool {
	have, ok := parsePart(version)
	if !ok || len(ranges) > 1000 {
		return true
	}
	for one := range strings.SplitSeq(ranges, "||") {
		in, ok := within(have, one)
		if !ok || in {
			return true
		}
	}
	return false
}

func within(have part, text string) (in, ok bool) {
	words := strings.Fields(spaced.ReplaceAllString(text, "$1"))
	if len(words) == 3 && words[1] == "-" {
		words = []string{">=" + words[0], "<=" + words[2]}
	}
	for _, word := range words {
		in, ok := meets(have, word)
		if !ok || !in {
			return in, ok
		}
	}
	return true, true
}

func meets(have part, word string) (in, ok bool) {
	op := word[:len(word)-len(strings.TrimLeft(word, "<>=~^"))]
	p, ok := parsePart(word[len(op):])
	if !ok {
		return false, false
	}
	low := have.compare(p)
	below := func(q part) bool { return have.compare(q) < 0 }
	switch op {
	case ">=":
		return low >= 0, true
	case ">":
		return !below(p.next(p.set)) || p.set == 3 && low > 0, true
	case "<":
		return low < 0, true
	case "<=":
		return low <= 0 || below(p.next(p.set)) && p.set < 3, true
	case "~", "~>":
		return low >= 0 && below(p.next(min(p.set, 2))), true
	case "^":
		keep := 1
		for keep < p.set && p.n[keep-1] == 0 {
			keep++
		}
		return low >= 0 && below(p.next(min(keep, p.set))), true
	case "", "=":
		if p.set == 3 {
			return low == 0, true
		}
		return low >= 0 && below(p.next(p.set)), true
	}
	return false, false
}
