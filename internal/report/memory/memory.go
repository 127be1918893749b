package memory

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

const (
	memoryCommits = 1000
	memoryBytes   = 8 << 10   // of a message, from its end
	memoryNumber  = 1_000_000 // no run counts so many iterations
)

// memoryAmount is a cost as CommitMessage writes it: less than a million
// dollars.
var memoryAmount = regexp.MustCompile(`^([0-9]{1,6})(?:\.([0-9]{1,6}))?$`)

// ReadHistory reads what CommitMessage wrote: messages are those of the
// branch's commits, newest first, at most 1000 of them; cut says that there are
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
}

// readCheckpoint reads the last paragraph of a message; is says that it is a
// checkpoint's.
func readCheckpoint(message string) (c checkpoint, is bool) {
	if len(message) > memoryBytes {
		message = message[len(message)-memoryBytes:]
	}
	message = strings.ReplaceAll(message, "\r\n", "\n")
	values := map[string]string{}
	for _, line := range trailerBlock(message) {
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
	return c, true
}

// objectID is the id of an object of git's.
var objectID = regexp.MustCompile(`^[0-9a-f]{40}$`)

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
