//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// withClaude makes the step talk to the scripted model.
func (j *job) withClaude(m *model) {
	j.Env["ANTHROPIC_API_KEY"] = apiKey
	j.Env["ANTHROPIC_BASE_URL"] = m.URL
	j.Env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
	j.Env["DISABLE_TELEMETRY"] = "1"
	j.Inputs["agent"] = "claude"
	j.Inputs["pass-env"] = "ANTHROPIC_BASE_URL\nCLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC\nDISABLE_TELEMETRY"
}

// withCodex is the same for codex, by inputs alone.
func (j *job) withCodex(m *model) {
	j.Image = full()
	j.Inputs["agent"] = "codex"
	j.Inputs["model"] = "gpt-5.5"
	j.Inputs["provider"] = "responses"
	j.Inputs["base-url"] = m.URL + "/v1"
	j.Inputs["api-key"] = apiKey
}

// record is what the tests look at in report.json.
type record struct {
	Outcome    string
	Reason     string
	Advice     string
	Iterations []struct {
		Retries int
		Turns   []struct {
			Session, Model string
			Cost           struct {
				MicroUSD *int64 `json:"micro_usd"`
			}
			Tokens struct {
				Known         bool
				Input, Output int64
			}
		}
	}
	Notes []string
}

func readRecord(t *testing.T, path string) (r record) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, path)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// report is the record of a step.
func (j *job) report(t *testing.T, res result) record {
	t.Helper()
	return readRecord(t, filepath.Join(j.Workspace, filepath.FromSlash(res.Outputs["report-path"])))
}
