package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// SchemaVersion counts incompatible changes of the JSON report.
const SchemaVersion = 1

const schemaURL = "https://raw.githubusercontent.com/org/ralph-action/main/docs/report.schema.json"

// jsonText bounds every foreign text of the JSON report but the task.
const jsonText = 64 << 10

// JSON is the report file, described by docs/report.schema.json: everything,
// with durations in seconds, times in UTC, and null for what is not known.
func JSON(r ralph.Report) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(newDocument(r)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type document struct {
	Schema        string        `json:"$schema"`
	SchemaVersion int           `json:"schema"`
	Version       string        `json:"version"`
	Outcome       ralph.Outcome `json:"outcome"`
	Completed     bool          `json:"completed"`
	Headline      string        `json:"headline"`
	Reason        string        `json:"reason"`
	Advice        string        `json:"advice"`
	ExitCode      int           `json:"exit_code"`

	Mode       string   `json:"mode"`
	Task       string   `json:"task"`
	Agent      string   `json:"agent"`
	AgentsUsed []string `json:"agents_used"`
	Model      string   `json:"model"`
	ModelsUsed []string `json:"models_used"`
	Isolation  string   `json:"isolation"`
	Repository string   `json:"repository"`
	RunURL     string   `json:"run_url"`
	Actor      string   `json:"actor"`

	Started  *time.Time `json:"started"`
	Ended    *time.Time `json:"ended"`
	Duration float64    `json:"duration_seconds"`
	Cost     cost       `json:"cost"`
	Prices   *string    `json:"prices_of"`
	Tokens   tokens     `json:"tokens"`
	Limits   limits     `json:"limits"`

	Tasks   *taskList `json:"tasks,omitempty"`
	Session *session  `json:"session,omitempty"`

	Baseline    []verdict   `json:"baseline"`
	Iterations  []iteration `json:"iterations"`
	History     *branch     `json:"history"`
	Publication publication `json:"publication"`
	Findings    []finding   `json:"findings"`
	Network     []refused   `json:"network"`
	Notes       []string    `json:"notes"`
}

type limits struct {
	MaxIterations *int       `json:"max_iterations"`
	CostMicroUSD  *int64     `json:"cost_micro_usd"`
	TotalMicroUSD *int64     `json:"total_cost_micro_usd"`
	Tokens        *int64     `json:"tokens"`
	Until         *time.Time `json:"until"`
}

type iteration struct {
	Number    int        `json:"number"`
	Started   *time.Time `json:"started"`
	Duration  float64    `json:"duration_seconds"`
	Marker    bool       `json:"marker"`
	Rejection *string    `json:"rejection"`
	Retries   int        `json:"retries"`
	Cost      cost       `json:"cost"`
	Tokens    tokens     `json:"tokens"`
	Turns     []turn     `json:"turns"`
	Verdicts  []verdict  `json:"guardrails"`
	Change    change     `json:"change"`
	Commit    *commit    `json:"commit"`
	Delivery  *delivery  `json:"delivery"`
	// What only some modes have is left out elsewhere.
	Rounds  int         `json:"rounds,omitempty"`
	Step    *step       `json:"step,omitempty"`
	Settled *settlement `json:"settled,omitempty"`
}

type turn struct {
	Started     *time.Time   `json:"started"`
	Duration    float64      `json:"duration_seconds"`
	Agent       string       `json:"agent"`
	Model       string       `json:"model"`
	Models      []modelUsage `json:"models"`
	Session     string       `json:"session"`
	Cost        cost         `json:"cost"`
	Tokens      tokens       `json:"tokens"`
	Messages    *int         `json:"messages"`
	Tools       *int         `json:"tools"`
	ToolErrors  *int         `json:"tool_errors"`
	ExitCode    int          `json:"exit_code"`
	OutputBytes int64        `json:"output_bytes"`
	Unknown     int          `json:"unknown_events"`
	Malformed   int          `json:"malformed_lines"`
	FinalText   string       `json:"final_text"`
	Todos       []todo       `json:"todos"`
	Failure     *turnFailure `json:"failure"`
	Kept        int          `json:"kept,omitempty"`
}

type todo struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

type turnFailure struct {
	Kind    string     `json:"kind"`
	Message string     `json:"message"`
	Fatal   bool       `json:"fatal"`
	RetryAt *time.Time `json:"retry_at"`
}

type verdict struct {
	Command  string  `json:"command"`
	Passed   bool    `json:"passed"`
	ExitCode int     `json:"exit_code"`
	Reason   string  `json:"reason"`
	Broken   bool    `json:"broken"`
	Action   string  `json:"fail_action"`
	Duration float64 `json:"duration_seconds"`
	LogFile  string  `json:"log_file"`
	Message  string  `json:"message"`
	Output   string  `json:"output"`
	Digest   string  `json:"digest"`
}

type change struct {
	Head       string   `json:"head"`
	Tree       string   `json:"tree"`
	Files      int      `json:"files"`
	Insertions *int     `json:"insertions"` // null: not counted
	Deletions  *int     `json:"deletions"`
	Uncounted  int      `json:"uncounted"`
	SinceStart bool     `json:"since_start"`
	Notes      []string `json:"notes"`
}

type commit struct {
	SHA       string `json:"sha"`
	Subject   string `json:"subject"`
	Files     int    `json:"files"`
	Pushed    bool   `json:"pushed"`
	PushError string `json:"push_error"`
	Own       int    `json:"agent_commits"`
}

type delivery struct {
	Message string `json:"message"`
	Turn    *turn  `json:"turn"`
	Tasks   []task `json:"tasks"`
	Error   string `json:"error"`
}

type task struct {
	Command  string  `json:"command"`
	ExitCode int     `json:"exit_code"`
	Duration float64 `json:"duration_seconds"`
	Output   string  `json:"output"`
}

func newDocument(r ralph.Report) document {
	u := r.Usage()
	d := document{
		Schema: schemaURL, SchemaVersion: SchemaVersion, Version: r.Version,
		Outcome: r.Outcome, Completed: r.Outcome == ralph.Completed, Headline: headline(r),
		Reason: bounded(r.Reason), Advice: advice(r), ExitCode: r.ExitCode,
		Mode: r.Mode, Task: strings.ToValidUTF8(r.Task, "\uFFFD"), Agent: bounded(r.Agent), Model: bounded(r.Model),
		AgentsUsed: boundedAll(agents(r)), ModelsUsed: boundedAll(models(r)), Isolation: bounded(r.Isolation), Repository: r.Repository, RunURL: r.RunURL, Actor: r.Actor,
		Started: instant(r.Started), Duration: seconds(r.Duration), Cost: newCost(u.Cost), Tokens: newTokens(u.Tokens),
		Limits: limits{
			MaxIterations: positive(r.MaxIterations), CostMicroUSD: positive(int64(r.Budget.Cost)),
			TotalMicroUSD: positive(int64(r.Budget.Total)), Tokens: positive(r.Budget.Tokens), Until: instant(r.Budget.Until),
		},
		Baseline: newVerdicts(r.Baseline), Iterations: []iteration{}, Notes: boundedAll(r.Notes),
		History: newBranch(r), Publication: newPublication(r.Publication), Findings: newFindings(r.Findings), Network: newNetwork(r.Network), Tasks: newTaskList(r), Session: newSession(r),
	}
	if u.Cost.Estimated && r.Prices != "" {
		prices := bounded(r.Prices)
		d.Prices = &prices
	}
	if !r.Started.IsZero() {
		d.Ended = instant(r.Started.Add(r.Duration))
	}
	for _, it := range r.Iterations {
		d.Iterations = append(d.Iterations, newIteration(it))
	}
	return d
}

// positive is nil for a value whose zero means "none" or "not reported".
func positive[N int | int64](n N) *N {
	if n <= 0 {
		return nil
	}
	return &n
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

func bounded(s string) string {
	if len(s) > jsonText {
		s = s[:jsonText] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func boundedEnd(s string) string {
	if len(s) > jsonText {
		s = "…" + s[len(s)-jsonText:]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func boundedAll(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, bounded(s))
	}
	return out
}
