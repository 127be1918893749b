package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

//go:embed page.html.tmpl
var pageTemplate string

// pageBounds is roomy: a page on disk has no limit but what a browser likes.
func pageBounds() bounds {
	return bounds{prompt: 20_000, rows: 1000, points: 120, failures: 100, output: 20_000, final: 20_000, list: 100, line: 1000, stories: 1000, storyBytes: 2 << 20, runs: 1000, findings: 1000, network: 500}
}

// HTML is a page of its own with the same facts as the summary: no script,
// nothing remote, charts as inline SVG, readable on light and dark screens and
// on paper.
func HTML(r ralph.Report) ([]byte, error) {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newPage(r)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type page struct {
	Title, Icon, Headline, Kind string
	Reasons                     []string
	Facts                       []fact
	Errors, Left, Notes         []string
	OpenURL                     string
	Stories                     *pageStories
	Task, Final                 string
	Steps                       bool
	Past                        *pageHistory
	Checks                      *pageChecks
	Published                   []pageStep
	Unpublished                 bool
	Rows                        []pageRow
	Earlier                     int
	Total                       row
	Prices                      string
	Workers                     []workerRow
	MoreWorkers                 int
	PutBack                     []putBack
	PutBackTitle, PutBackWords  string
	EarlierPutBack              int
	Deliveries                  []pageDelivery
	EarlierDeliveries           int
	Charts                      []plot
	CostMissing                 bool
	Failures                    []pageFailure
	MoreFailures                int
	Baseline                    []pageFailure
	Findings                    []pageFindings
	MoreFindings                int
	Network                     []pageRefused
	MoreNetwork                 int
	NetworkHint                 string
	Footer                      []string
}

type fact struct{ Name, Text, URL string }

type pageRow struct {
	row
	Step string
	URL  string
	More string
}

type pageFailure struct {
	Title, Command, Words, Also, Output, Log, Time string
}

func newPage(r ralph.Report) page {
	limit := pageBounds()
	p := page{
		Title: Title(r), Icon: resultIcon(r), Headline: headline(r), Kind: kind(resultIcon(r)),
		Facts: pageFacts(r), Errors: plainLines(r.Publication.Errors, limit), Notes: plainLines(allNotes(r), limit),
		Total: totals(r), CostMissing: r.Usage().Cost.Unknown,
	}
	if r.Outcome != ralph.Completed {
		p.Reasons = reasons(besideFindings(r), limit.list, limit.line)
		p.Left = remaining(r, limit, plainWords{})
	}
	for _, text := range []string{leftOutAdvice(r), advice(r)} {
		if text != "" {
			p.Left = append(p.Left, text)
		}
	}
	if len(r.Publication.Errors) > 0 && r.Publication.PullRequest.Number == 0 {
		p.OpenURL = compareURL(r, true)
	}
	p.Prices = priceNote(r)
	p.Workers, p.MoreWorkers = workerRows(r)
	p.Task = marked(head(r.Task, limit.prompt))
	if text, cut := tail(finalText(r), limit.final); cut {
		p.Final = "…" + text
	} else {
		p.Final = text
	}
	p.Stories = newPageStories(r, limit)
	p.Past, p.Checks = newPageHistory(r, limit), newPageChecks(r, limit)
	p.Published, p.Unpublished = pageSteps(r, limit), unpublished(r.Publication)
	p.putBack(r, limit)
	shown := newest(r.Iterations, limit.rows)
	p.Steps = anyStep(r.Iterations)
	p.Earlier = len(r.Iterations) - len(shown)
	for _, it := range shown {
		pr := pageRow{row: newRow(it), Step: stepWords(it, r.Tasks.SkipReview)}
		if it.Commit.Pushed || r.Publication.Pushed {
			pr.URL = commitURL(r, it.Commit.SHA)
		}
		pr.Error = oneLine(pr.Error, 200)
		for i, name := range pr.Failing {
			pr.Failing[i] = oneLine(name, 60)
		}
		if n := len(pr.Failing); n > 3 {
			pr.Failing, pr.More = pr.Failing[:3], fmt.Sprintf("and %d more", n-3)
		}
		p.Rows = append(p.Rows, pr)
	}
	p.Deliveries, p.EarlierDeliveries = pageDeliveries(r, limit)
	if s, ok := timeSeries(r, limit.points); ok {
		p.Charts = append(p.Charts, s.plot("time"))
	}
	if s, ok := costSeries(r, limit.points); ok {
		p.Charts = append(p.Charts, s.plot("cost"))
	}
	list := failures(r)
	for i, f := range list {
		if i == limit.failures {
			p.MoreFailures = len(list) - i
			break
		}
		pf := newPageFailure(f.Verdict, limit)
		pf.Title = fmt.Sprintf("Iteration %d", f.Iteration)
		if f.Also > 0 {
			pf.Also = fmt.Sprintf("the same as in %s", plural(f.Also, "earlier iteration"))
		}
		p.Failures = append(p.Failures, pf)
	}
	for _, v := range r.Baseline {
		if !v.Passed && len(p.Baseline) < limit.list {
			pf := newPageFailure(v, limit)
			pf.Also = now(r, v.Command)
			p.Baseline = append(p.Baseline, pf)
		}
	}
	p.Findings, p.MoreFindings = newPageFindings(r, limit)
	p.Network, p.MoreNetwork = pageNetwork(r, limit)
	p.NetworkHint = networkHint
	p.Footer = pageFooter(r, limit)
	return p
}

// kind is the colour of the outcome.
func kind(icon string) string {
	switch icon {
	case "✅":
		return "good"
	case "❌":
		return "bad"
	default:
		return "limit"
	}
}

func marked(text string, cut bool) string {
	if cut {
		return text + "\n… (cut; report.json has all of it)"
	}
	return text
}

func plainLines(texts []string, limit bounds) []string {
	var lines []string
	for i, text := range texts {
		if i == limit.list {
			return append(lines, fmt.Sprintf("…and %d more; report.json has them all.", len(texts)-i))
		}
		if text = oneLine(text, limit.line); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

func newPageFailure(v ralph.Verdict, limit bounds) pageFailure {
	text, reason := verdictWords(v)
	if reason != "" {
		text += ": " + oneLine(reason, limit.line)
	}
	output, cut := tail(v.Output, limit.output)
	if cut {
		output = "…\n" + output
	}
	return pageFailure{Command: oneLine(v.Command, 300), Words: text, Output: strings.Trim(output, "\n"), Log: oneLine(v.LogFile, 300), Time: span(v.Duration)}
}

func pageFacts(r ralph.Report) []fact {
	var facts []fact
	p := r.Publication
	if pr := p.PullRequest; pr.Number > 0 {
		facts = append(facts, fact{"Pull request", fmt.Sprintf("#%d", pr.Number) + pullWords(pr), webAddress(pr.URL)})
	}
	if p.Branch != "" {
		text := oneLine(p.Branch, 200)
		if p.Fork != "" {
			text += " in " + oneLine(p.Fork, 200)
		}
		if p.Base != "" {
			text += " → " + oneLine(p.Base, 200)
		}
		facts = append(facts, fact{"Branch", text, ""})
	}
	if n := commits(r); n > 0 {
		text := plural(n, "commit")
		if words := commitWords(p); words != "" {
			text += " (" + words + ")"
		}
		facts = append(facts, fact{"Work", text, compareURL(r, false)})
	}
	if p.Issue > 0 {
		facts = append(facts, fact{"Issue", fmt.Sprintf("#%d", p.Issue), issueURL(r)})
	}
	if address := webAddress(p.Comment); address != "" {
		facts = append(facts, fact{"Told in", "comment", address})
	}
	if address := webAddress(r.RunURL); address != "" {
		facts = append(facts, fact{"Log", "workflow run", address})
	}
	if len(r.Iterations) > 0 {
		u := r.Usage()
		facts = append(facts, fact{"Cost", u.Cost.String(), ""}, fact{"Tokens", tokenWords(u.Tokens), ""})
	}
	if text := branchCostWords(r); text != "" {
		facts = append(facts, fact{"Cost of the branch", text, ""})
	}
	facts = append(facts, fact{"Time", span(r.Duration), ""})
	if status := SessionStatus(r); status != "" {
		facts = append(facts, fact{"Session", status + " after " + plural(r.Rounds(), "iteration"), ""})
	}
	return facts
}

func pageFooter(r ralph.Report, limit bounds) []string {
	var facts []string
	add := func(name, value string) {
		if value = oneLine(value, limit.line); value != "" {
			facts = append(facts, name+value)
		}
	}
	if !r.Started.IsZero() {
		add("started ", stamp(r.Started))
	}
	add("mode ", r.Mode)
	names := models(r)
	list := agentNames(r)
	agent := strings.Join(list[:min(5, len(list))], ", ")
	if len(names) > 0 {
		agent += " (" + strings.Join(names[:min(5, len(names))], ", ") + ")"
	}
	if len(list) > 1 {
		add("agents ", agent)
	} else {
		add("agent ", agent)
	}
	add("started by ", r.Actor)
	add("isolation: ", r.Isolation)
	add("allowed: ", allowed(r))
	add("exit code ", fmt.Sprint(r.ExitCode))
	add("ralph ", r.Version)
	return facts
}
