package content

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

// Run is what a commit of the agent's own can be held against.
type Run struct {
	// People are the identities that the run commits as, as "Name <email>".
	People []string
	// Started is when the run began; now is when a commit is looked at.
	Started, Now time.Time
}

// clockSkew is how far a commit's time may lie outside of the run.
const clockSkew = time.Hour

// gitBegan is before the first commit ever made with git, in April 2005.
var gitBegan = time.Date(2005, 4, 1, 0, 0, 0, 0, time.UTC)

// Claims finds what a commit that the agent made claims to be and is not: another
// person's, made at another time, reviewed or tested by somebody, or a commit of
// ralph's. text is the commit without its tree and parents, as git stores it: headers,
// an empty line, the message. Lines by which the CLIs of agents name themselves are no
// claims.
func (r Run) Claims(commit, text string) []ralph.Finding {
	var found []ralph.Finding
	add := func(rule, format string, args ...any) {
		f := ralph.Finding{
			Kind: ralph.FindingClaim, Severity: ralph.Flag, Where: "commit " + short(commit), Rule: rule, Text: fmt.Sprintf(format, args...),
		}
		if !slices.Contains(found, f) && len(found) < maxClaims {
			found = append(found, f)
		}
	}
	head, message, _ := strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		field, rest, _ := strings.Cut(line, " ")
		if field != "author" && field != "committer" {
			continue
		}
		who, at := identity(rest)
		if !r.own(who) {
			add(field, "its %s is %s, and it was made in this run", field, quoted(who))
		}
		switch {
		case at.After(r.Now.Add(clockSkew)):
			add("date", "its %s's date is in the future: %s", field, day(at))
		case field == "author" && at.Before(gitBegan), field == "committer" && at.Before(r.Started.Add(-clockSkew)):
			add("date", "its %s's date is %s, and it was made in this run", field, day(at))
		}
	}
	r.claimsOf(message, add)
	return found
}

// maxClaims bounds what is said of one commit.
const maxClaims = 10

func (r Run) claimsOf(message string, add func(rule, format string, args ...any)) {
	subject, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	if ralphSubject.MatchString(subject) {
		add("subject", "its subject reads like one of ralph's own commits: %s", quoted(subject))
	}
	if noChecks.MatchString(message) {
		add("skip-checks", "its message asks the forge to start no checks")
	}
	for line := range strings.SplitSeq(message, "\n") {
		m := spokenFor.FindStringSubmatch(strings.TrimRight(line, "\r"))
		if m == nil {
			continue
		}
		name, who := strings.ToLower(m[1]), strings.TrimSpace(m[2])
		switch name {
		case "reviewed", "acked", "approved": // the agent cannot, whoever it names
			add(name+"-by", "its message says %s, and only the agent has seen it", quoted(strings.TrimSpace(line)))
		default:
			if !r.own(who) {
				add(name+"-by", "its message says %s, and the agent wrote it", quoted(strings.TrimSpace(line)))
			}
		}
	}
}

var (
	ralphSubject = lazyregexp.New(`(?i)^\s*ralph\s*[:(\[-]`)
	spokenFor    = lazyregexp.New(`(?i)^\s*(reviewed|acked|approved|tested|signed-off|co-authored|co-developed)-by\s*:(.*)$`)
	// What GitHub Actions looks for in the message of a commit.
	noChecks = lazyregexp.New(`(?i)\[(skip ci|ci skip|no ci|skip actions|actions skip)\]|(?m:^\s*skip-checks\s*:\s*true)`)
	// Addresses by which CLIs of agents name themselves.
	agentAddress = lazyregexp.New(`(?i)<([a-z0-9._-]+@(anthropic\.com|openai\.com|cursor\.com|opencode\.ai|aider\.chat|ampcode\.com|cline\.bot)|copilot@github\.com|[0-9]+\+copilot@users\.noreply\.github\.com|gemini-code-assist@google\.com)>$`)
)

// own reports whether an identity is the run's, or that of an agent's CLI.
func (r Run) own(who string) bool {
	return slices.Contains(r.People, who) || agentAddress.MatchString(who)
}

// identity is who stands in a header, and when.
func identity(s string) (who string, at time.Time) {
	who = s
	if i := strings.LastIndexByte(s, '>'); i >= 0 {
		who = s[:i+1]
		seconds, _, _ := strings.Cut(strings.TrimSpace(s[i+1:]), " ")
		n, _ := strconv.ParseInt(seconds, 10, 64) // what is no number is 1970, which is said
		at = time.Unix(n, 0).UTC()
	}
	return who, at
}

func day(t time.Time) string {
	if y := t.Year(); y < 0 || y > 9999 {
		return "beyond any calendar"
	}
	return t.Format(time.DateOnly)
}

// quoted is foreign text in a finding.
func quoted(s string) string {
	const most = 120
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.QuoteToGraphic(s)
}
