// Package memory is what a run writes where the next one on the branch reads it:
// commit messages with their trailers, and what a pull request is about, with its
// title and a line in its body. What is read back was written by whoever can push
// or edit: it is a memory, never a permission.
package memory

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

const (
	memoryCommits = 1000
	memoryBytes   = 32 << 10  // of a message, from its end
	memoryNumber  = 1_000_000 // no run counts so many iterations
	mostDid       = 20        // subjects that are kept of a run
)

// memoryAmount is a cost as CommitMessage writes it: less than a million
// dollars.
var memoryAmount = lazyregexp.New(`^([0-9]{1,6})(?:\.([0-9]{1,6}))?$`)

// ReadHistory reads what CommitMessage wrote: messages are those of the
// branch's commits, newest first, at most 1000 of them; cut reports whether there are
// older ones. Messages are foreign: values that cannot be right count as
// missing. Iterations count on from run to run, so those of a run are its last
// number less the ones before it. When older commits were not read, and their
// iterations are told by the first number that was, a run without a name
// stands for them.
func ReadHistory(messages []string, cut bool) ralph.History {
	if len(messages) > memoryCommits {
		messages, cut = messages[:memoryCommits], true
	}
	h := ralph.History{Cut: cut}
	sum := 0
	type counted struct{ run, before int } // before: -1 while no number was read
	runs := map[string]*counted{}
	for i := len(messages) - 1; i >= 0; i-- {
		c, is := readCheckpoint(messages[i])
		if !is {
			continue
		}
		if cut && sum == 0 && c.number > 1 {
			sum = c.number - 1
			h.Runs = append(h.Runs, ralph.Past{Iterations: sum, Cost: ralph.Cost{Unknown: true}})
		}
		at := runs[c.run]
		if at == nil {
			at = &counted{len(h.Runs), -1}
			runs[c.run] = at
			h.Runs = append(h.Runs, ralph.Past{Run: c.run})
		}
		p := &h.Runs[at.run]
		p.Commits++
		p.Cost, p.Outcome, p.LeftOut = p.Cost.Add(c.cost), c.outcome, c.leftOut
		if c.said.Title != "" {
			p.Said = c.said
		}
		if !strings.HasPrefix(c.subject, "ralph: ") && len(p.Did) < mostDid && !slices.Contains(p.Did, c.subject) {
			p.Did = append(p.Did, c.subject)
		}
		if c.number == 0 {
			continue
		}
		if at.before < 0 {
			at.before = min(c.number-1, sum)
		}
		if more := c.number - at.before - p.Iterations; more > 0 {
			sum += more
			p.Iterations += more
		}
	}
	return h
}

// checkpoint is what the trailers of one commit tell.
type checkpoint struct {
	run     string
	number  int // 0: not told
	cost    ralph.Cost
	outcome ralph.Outcome
	leftOut []ralph.Missing
	subject string
	said    ralph.Said // title and description of the change
}

// readCheckpoint reads the last paragraph of a message; is reports whether it is a
// checkpoint's.
func readCheckpoint(message string) (c checkpoint, is bool) {
	if len(message) > memoryBytes {
		message = message[len(message)-memoryBytes:]
	}
	message = strings.TrimRight(strings.ReplaceAll(message, "\r\n", "\n"), " \t\n")
	block := trailerBlock(message)
	values := map[string]string{}
	for _, line := range block {
		if name, value, found := strings.Cut(line, ":"); found && isOurs(line) {
			name, value = strings.TrimSpace(name), doc.OneLine(value, trailerRunes)
			values[strings.ToLower(name)] = value
			if m, ok := readLeftOut(value); ok && strings.EqualFold(name, TrailerLeftOut) && len(c.leftOut) < mostLeftOut {
				c.leftOut = append(c.leftOut, m)
			}
		}
	}
	value := func(name string) string { return values[strings.ToLower(name)] }
	if c.run = value(TrailerRun); c.run == "" {
		return c, false
	}
	if n, err := strconv.Atoi(value(TrailerIteration)); err == nil && n > 0 && n <= memoryNumber {
		c.number = n
	}
	var whole bool
	if c.cost.Amount, whole = amount(value(TrailerCost)); !whole {
		c.cost.Amount, _ = amount(value(TrailerAtLeast))
	}
	c.cost.Unknown, c.cost.Estimated = !whole, value(TrailerEstimated) == "true"
	if o := ralph.Outcome(value(TrailerOutcome)); o.Known() {
		c.outcome = o
	}
	subject, body, _ := strings.Cut(strings.TrimSuffix(message, strings.Join(block, "\n")), "\n")
	c.subject = doc.OneLine(subject, trailerRunes)
	if c.said.Title = value(TrailerTitle); c.said.Title != "" {
		c.said.Description = strings.TrimSpace(body)
	}
	return c, true
}

// objectID is the id of an object of git's.
var objectID = lazyregexp.New(`^[0-9a-f]{40}$`)

func readLeftOut(value string) (m ralph.Missing, ok bool) {
	path, id, _ := strings.Cut(strings.TrimSpace(value), " ")
	path, err := url.QueryUnescape(path)
	if err != nil || path == "" || id != "" && !objectID.MatchString(id) {
		return m, false
	}
	return ralph.Missing{Path: path, ID: id}, true
}

// amount is a number of dollars as money; ok is false for what is none.
func amount(s string) (m ralph.MicroUSD, ok bool) {
	parts := memoryAmount.FindStringSubmatch(s)
	if parts == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(parts[1]+(parts[2] + "000000")[:6], 10, 64)
	return ralph.MicroUSD(n), err == nil
}

// The trailers of a checkpoint: the run's memory on the branch.
const (
	TrailerRun       = "Ralph-Run"
	TrailerIteration = "Ralph-Iteration"
	TrailerTitle     = "Ralph-Title" // of the change; its description stands above the trailers
	TrailerStory     = "Ralph-Story"
	TrailerCost      = "Ralph-Cost-USD"
	// TrailerAtLeast stands instead of TrailerCost where only a part of the cost
	// is known.
	TrailerAtLeast   = "Ralph-Cost-At-Least-USD"
	TrailerEstimated = "Ralph-Cost-Estimated" // "true": a part of the cost was computed from tokens
	TrailerBase      = "Ralph-Base"           // the commit at which a lane began
	TrailerOutcome   = "Ralph-Outcome"
	TrailerLeftOut   = "Ralph-Left-Out" // a path, as in a query of a URL, and the id of what is published there
	trailerSignoff   = "Signed-off-by"
)

// Forged reports whether a message that is not ours holds a trailer of ours, anywhere:
// what is appended to a message can make a trailer of any line.
func Forged(message string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), isOurs)
}

// isOurs reports whether a line is a trailer of ours, in whatever spelling a reader
// would take for it.
func isOurs(line string) bool {
	name, _, is := strings.Cut(line, ":")
	if !is {
		return false
	}
	name = strings.TrimSpace(name)
	for _, ours := range []string{TrailerRun, TrailerIteration, TrailerTitle, TrailerStory, TrailerLane, TrailerReturned, TrailerUnprotected, TrailerBase, TrailerCost, TrailerAtLeast, TrailerEstimated, TrailerOutcome, TrailerLeftOut} {
		if strings.EqualFold(name, ours) {
			return true
		}
	}
	return false
}

// speaksFor reports whether a line is a trailer by which a message would speak for a
// person, or tell the forge not to check the commit, wherever it stands: forges
// do not agree on where the trailers of a message end.
func speaksFor(line string) bool {
	name, _, is := strings.Cut(line, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	return is && (name == "skip-checks" || name == "request-checks" || strings.HasSuffix(name, "-by") && !strings.Contains(name, " "))
}

// trailerBlock is the lines of the trailers that a message ends in; none when
// its last paragraph is its subject or prose. The rule is that of git (2.39,
// trailer.c): every line is a trailer or continues one, or one of them is
// git's own and at most three of four are prose.
func trailerBlock(message string) []string {
	lines := strings.Split(strings.TrimRight(message, " \t\r\n"), "\n")
	title := 0
	for title < len(lines) && !blank(lines[title]) {
		title++
	}
	trailers, prose, continued, gits := 0, 0, 0, false
	for i := len(lines) - 1; i >= title; i-- {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "#"):
			prose, continued = prose+continued, 0
		case blank(line):
			prose += continued
			if trailers > 0 && prose == 0 || gits && trailers*3 >= prose {
				return lines[i+1:]
			}
			return nil
		case strings.HasPrefix(line, trailerSignoff+": "), strings.HasPrefix(line, "(cherry picked from commit "):
			trailers, continued, gits = trailers+1, 0, true
		case line[0] == ' ' || line[0] == '\t':
			continued++
		case isTrailer(line):
			trailers, continued = trailers+1, 0
		default:
			prose, continued = prose+continued+1, 0
		}
	}
	return nil
}

func blank(line string) bool { return strings.Trim(line, " \t\r\v\f") == "" }

// isTrailer reports whether a line begins with a name of letters, digits and hyphens,
// perhaps spaces, and a colon.
func isTrailer(line string) bool {
	name, _, is := strings.Cut(line, ":")
	name = strings.TrimRight(name, " \t")
	if !is || name == "" {
		return false
	}
	for i := range len(name) {
		if c := name[i] | 0x20; (c < 'a' || c > 'z') && (name[i] < '0' || name[i] > '9') && name[i] != '-' {
			return false
		}
	}
	return true
}
