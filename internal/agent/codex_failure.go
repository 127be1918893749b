package agent

import (
	"strconv"
	"strings"

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
func (d *codexDecoder) retry(message string) {
	rest, ok := strings.CutPrefix(message, "Reconnecting... ")
	if !ok {
		return
	}
	if d.refused(message); d.lost != nil {
		return
	}
	if strings.HasPrefix(rest, "waiting for network") {
		if d.waits++; d.waits >= maxWaits {
			d.lose(&ralph.Failure{Kind: ralph.FailureAPI, Message: clip("codex found no way to its API, again and again: "+rest, maxMessage)})
		}
		return
	}
	d.waits = 0
	_, what, _ := strings.Cut(rest, " (")
	what = strings.TrimSuffix(what, ")")
	status := codexStatus(what)
	if status == 401 || status == 403 && !strings.Contains(what, ", url: ws") {
		d.lose(d.hinted(&ralph.Failure{Kind: ralph.FailureAuth, Message: what}))
	}
}

// codexStatus is the HTTP status in codex's own form for one; 0: there is none.
func codexStatus(message string) int {
	for _, form := range []string{"unexpected status ", "exceeded retry limit, last status: "} {
		if rest, ok := strings.CutPrefix(message, form); ok && len(rest) >= 3 {
			status, _ := strconv.Atoi(rest[:3])
			return status
		}
	}
	return 0
}

// codexFailure sorts the message of turn.failed, which has no code: codex 0.169
// gives the status in a form of its own, and a few failures as whole sentences
// of its own. Of a 400 it passes on the body, which is JSON; of a model that does
// not exist the provider's sentence alone, of which OpenAI's is known. Anything
// else may pass.
func codexFailure(message string) ralph.FailureKind {
	status := codexStatus(message)
	if members([]byte(message), func(_, _ []byte) {}) {
		e := fields(fields([]byte(message), "error")["error"], "code", "type")
		if str(e["code"], maxName) == "model_not_found" || str(e["type"], maxName) == "not_found_error" {
			return ralph.FailureModel
		}
		return ralph.FailureRequest
	}
	begins := func(s string) bool { return strings.HasPrefix(message, s) }
	switch {
	case status == 401 || status == 403 || begins("Missing environment variable: "):
		return ralph.FailureAuth
	case status == 404 || noSuchModel(message):
		return ralph.FailureModel
	case begins("Quota exceeded. Check your plan and billing details."), begins("You’ve hit your usage limit."), begins("You've hit your usage limit."):
		return ralph.FailureQuota
	case begins("Codex ran out of room in the model's context window."):
		return ralph.FailureRequest
	case status >= 400 && status < 500 && status != 408 && status != 409 && status != 429:
		return ralph.FailureRequest
	}
	return ralph.FailureAPI
}

// codexMessage is what a message says that is a whole body.
func codexMessage(message string) string {
	v := fields([]byte(message), "error", "detail")
	return firstOf(oneLine(str(fields(v["error"], "message")["message"], 4*maxMessage)), oneLine(str(v["detail"], 4*maxMessage)), message)
}

// noSuchModel says that a message is OpenAI's whole sentence about a model it
// does not have, which it sends without a code of its own in some places.
func noSuchModel(message string) bool {
	return strings.HasPrefix(message, "The model `") && strings.HasSuffix(message, "` does not exist or you do not have access to it.")
}
