package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const path = "../../docs/report.schema.json"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("report.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestJSONFollowsItsSchema(t *testing.T) {
	t.Parallel()
	s := schema(t)
	all := samples()
	all["empty"] = ralph.Report{Outcome: ralph.Invalid}
	delete(all, "hostile") // its pull request operation is no operation, its finding of no kind; see below
	h := hostile()
	h.Publication.PullRequest.Operation = ralph.OperationCreated
	h.Findings[1].Kind, h.Findings[1].Severity = ralph.FindingTests, ralph.Flag
	all["hostile"] = h
	for _, row := range ralph.Outcomes() {
		all["any "+string(row.Outcome)] = stopped(row.Outcome, "for a reason")
	}
	for name, r := range all {
		text, err := report.JSON(r)
		if err != nil {
			t.Fatalf("JSON(%s) = %v", name, err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("JSON(%s) is no JSON: %v", name, err)
		}
		if err := s.Validate(doc); err != nil {
			t.Errorf("JSON(%s) does not follow docs/report.schema.json, which is written by hand: %v", name, err)
		}
	}
}

func TestSchemaRefusesWhatIsNotInIt(t *testing.T) {
	t.Parallel()
	s := schema(t)
	text, err := report.JSON(completed())
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range []func(map[string]any){
		func(m map[string]any) { m["surprise"] = 1 },
		func(m map[string]any) { delete(m, "cost") },
		func(m map[string]any) { m["outcome"] = "fine" },
		func(m map[string]any) { m["iterations"].([]any)[0].(map[string]any)["surprise"] = 1 },
	} {
		var doc map[string]any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		edit(doc)
		if s.Validate(doc) == nil {
			t.Errorf("Validate(edited report) = nil, want an error")
		}
	}
}

func TestJSONUnknownCostIsNull(t *testing.T) {
	t.Parallel()
	text, err := report.JSON(quota())
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Cost struct {
			MicroUSD *int64   `json:"micro_usd"`
			USD      *float64 `json:"usd"`
			AtLeast  *int64   `json:"at_least_micro_usd"`
		}
		Iterations []struct {
			Tokens struct{ Input *int64 }
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Cost.MicroUSD != nil || doc.Cost.USD != nil || doc.Cost.AtLeast == nil || *doc.Cost.AtLeast != 12_300 {
		t.Errorf("cost = %+v, want null, null, 12300", doc.Cost)
	}
	if in := doc.Iterations[1].Tokens.Input; in != nil {
		t.Errorf("tokens.input = %d, want null", *in)
	}
}

func TestJSONKeepsTheTaskAndBoundsTheRest(t *testing.T) {
	t.Parallel()
	r := completed()
	r.Task = strings.Repeat("ü", 1<<20)
	r.Iterations[0].Verdicts[1].Output = strings.Repeat("x", 1<<20) + "end"
	text, err := report.JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Task       string
		Iterations []struct{ Guardrails []struct{ Output string } }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Task != r.Task {
		t.Errorf("task has %d bytes, want %d", len(doc.Task), len(r.Task))
	}
	if out := doc.Iterations[0].Guardrails[1].Output; len(out) > 70_000 || !strings.HasSuffix(out, "end") {
		t.Errorf("output has %d bytes and ends in %q, want at most 70000 and the end", len(out), out[max(0, len(out)-10):])
	}
}
