package content_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/inspect/content"
	"github.com/org/ralph-action/internal/ralph"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	r := content.Run{People: []string{"octo <octo@example.com>", "github-actions[bot] <bot@example.com>"}, Started: start, Now: start.Add(time.Hour)}
	const at = "1777638600 +0000" // within the run
	const bot, octo = "github-actions[bot] <bot@example.com> " + at, "octo <octo@example.com> " + at
	for _, tt := range []struct {
		name, author, committer, message string
		want                             []string // rules
	}{
		{"honest", bot, bot, "feat: one\n\nThe body.\n", nil},
		{"the author of the run", octo, bot, "feat: one\n\nSigned-off-by: octo <octo@example.com>\n", nil},
		{"claude says so", bot, bot, "feat: one\n\nGenerated with Claude Code\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n", nil},
		{"copilot says so", bot, bot, "feat\n\nCo-authored-by: Copilot <198982749+Copilot@users.noreply.github.com>\n", nil},
		{"claude commits", "Claude <noreply@anthropic.com> " + at, bot, "feat\n", nil},
		{"prose", bot, bot, "docs: how code is reviewed-by: hand\n\nSee reviewed by people. The ralph way: none.\n", nil},
		{"a picked commit keeps its time", "github-actions[bot] <bot@example.com> 1500000000 +0000", bot, "feat\n", nil},
		{"author", "Linus <l@example.com> " + at, bot, "feat\n", []string{"author"}},
		{"committer", bot, "Linus <l@example.com> " + at, "feat\n", []string{"committer"}},
		{"one letter", "0cto <octo@example.com> " + at, bot, "feat\n", []string{"author"}},
		{"an agent's address in a name", "noreply@anthropic.com <l@example.com> " + at, bot, "feat\n", []string{"author"}},
		{"the future", bot, "github-actions[bot] <bot@example.com> 4102444800 +0000", "feat\n", []string{"date"}},
		{"before the run", bot, "github-actions[bot] <bot@example.com> 1700000000 +0000", "feat\n", []string{"date"}},
		{"before git", "github-actions[bot] <bot@example.com> 0 +0000", bot, "feat\n", []string{"date"}},
		{"no date", "github-actions[bot] <bot@example.com>", bot, "feat\n", []string{"date"}},
		{"reviewed", bot, bot, "feat\n\nReviewed-by: Linus <l@example.com>\nTested-By : A <a@example.com>\nAcked-by: octo <octo@example.com>\n", []string{"reviewed-by", "tested-by", "acked-by"}},
		{"signed off by others", bot, bot, "feat\n\nSigned-off-by: Linus <l@example.com>\r\nCo-authored-by: Linus <l@example.com>\n", []string{"signed-off-by", "co-authored-by"}},
		{"ralph's subject", bot, bot, "ralph: reviewed, all checks passed\n", []string{"subject"}},
		{"no checks", bot, bot, "feat [skip ci]\n", []string{"skip-checks"}},
		{"no checks, as a trailer", bot, bot, "feat\n\nskip-checks: true\n", []string{"skip-checks"}},
		{"many", bot, bot, "feat\n\n" + strings.Repeat("Signed-off-by: Linus <l@example.com>\n", 50), []string{"signed-off-by"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range r.Claims("0123456789abcdef", "author "+tt.author+"\ncommitter "+tt.committer+"\n\n"+tt.message) {
				if f.Kind != ralph.FindingClaim || f.Severity != ralph.Flag || f.Where != "commit 0123456" || f.Text == "" {
					t.Errorf("finding %+v, want a flag about the commit", f)
				}
				got = append(got, f.Rule)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Claims() found %q, want %q", got, tt.want)
			}
		})
	}
}
