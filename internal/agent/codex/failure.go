package codex

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// maxWaits is how often in a row codex may wait for the network, which it does
// for ever, about four times a minute. After five minutes the turn is given up,
// and tried again as after any failure that may pass.
const maxWaits = 20

// retry gives up what no retry helps. codex (seen: 0.169.0) announces one as
// "Reconnecting... N/M (what went wrong)". By then it has renewed what it can
// renew. A 403 to a WebSocket may be a proxy's that knows none; codex goes on
// without.
func (d *decoder) retry(message string) {
	rest, ok := strings.CutPrefix(message, "Reconnecting... ")
	if !ok {
		return
	}
	if d.Refused(message); d.Lost != nil {
		return
	}
	if strings.HasPrefix(rest, "waiting for network") {
		if d.waits++; d.waits >= maxWaits {
			d.Lose(&ralph.Failure{Kind: ralph.FailureAPI, Message: driver.Clip("codex found no way to its API, again and again: "+rest, driver.MaxMessage)})
		}
		return
	}
	d.waits = 0
	_, what, _ := strings.Cut(rest, " (")
	what = strings.TrimSuffix(what, ")")
	status := statusOf(what)
	if status == 401 || status == 403 && !strings.Contains(what, ", url: ws") {
		d.Lose(d.WithHint(&ralph.Failure{Kind: ralph.FailureAuth, Message: what}))
	}
}

// statusOf is the HTTP status in codex's own form for one; 0: there is none.
func statusOf(message string) int {
	for _, form := range []string{"unexpected status ", "exceeded retry limit, last status: "} {
		if rest, ok := strings.CutPrefix(message, form); ok && len(rest) >= 3 {
			status, _ := strconv.Atoi(rest[:3])
			return status
		}
	}
	return 0
}

// failureKind sorts the message of turn.failed, which has no code: codex 0.169
// gives the status in a form of its own, and a few failures as whole sentences
// of its own. Of a 400 it passes on the body, which is JSON; of a model that does
// not exist the provider's sentence alone, of which OpenAI's is known. Anything
// else may pass.
func failureKind(message string) ralph.FailureKind {
	if jsonscan.Members([]byte(message), func(_, _ []byte) {}) {
		e := jsonscan.Fields(jsonscan.Field([]byte(message), "error"), "code", "type")
		if driver.NameOf(e["code"]) == "model_not_found" || driver.NameOf(e["type"]) == "not_found_error" {
			return ralph.FailureModel
		}
		return ralph.FailureRequest
	}
	begins := func(s string) bool { return strings.HasPrefix(message, s) }
	switch {
	case begins("Missing environment variable: "):
		return ralph.FailureAuth
	case driver.NoSuchModel(message):
		return ralph.FailureModel
	case begins("Quota exceeded. Check your plan and billing details."), begins("You’ve hit your usage limit."), begins("You've hit your usage limit."):
		return ralph.FailureQuota
	case begins("Codex ran out of room in the model's context window."):
		return ralph.FailureRequest
	}
	return driver.StatusKind(statusOf(message))
}

// messageOf is what a message says that is a whole body.
func messageOf(message string) string {
	v := jsonscan.Fields([]byte(message), "error", "detail")
	return cmp.Or(driver.LineOf(jsonscan.Field(v["error"], "message")), driver.LineOf(v["detail"]), message)
}
