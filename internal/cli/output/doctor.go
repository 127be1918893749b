package output

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/report/words"
	"github.com/org/ralph-action/internal/run/doctor"
)

const (
	doctorWidth = 100 // columns
	doctorText  = 600 // characters of one cell
)

// DoctorTable is one table for people: status, check, what was found; below a
// line that is not right, what to do about it.
func DoctorTable(rows []doctor.Check, color bool) string {
	var b strings.Builder
	width := len("Check")
	count := map[doctor.Status]int{}
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.Check))
		count[r.Status]++
	}
	paint := func(code, text string) string {
		if !color || code == "" {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
	colors := map[doctor.Status]string{doctor.StatusOK: "32", doctor.StatusWarn: "33", doctor.StatusFail: "31", doctor.StatusSkip: "2"}
	b.WriteString(paint("1", fmt.Sprintf("%-6s  %-*s  %s", "Status", width, "Check", "Found")) + "\n")
	gap := strings.Repeat(" ", 6+2+width+2)
	for _, r := range rows {
		head := paint(colors[r.Status], fmt.Sprintf("%-6s", r.Status)) + "  " + pad(r.Check, width) + "  "
		for i, line := range wrapText(r.Found, doctorWidth-len(gap)) {
			if i > 0 {
				head = gap
			}
			b.WriteString(strings.TrimRight(head+line, " ") + "\n")
		}
		if r.Advice == "" {
			continue
		}
		for i, line := range wrapText(r.Advice, doctorWidth-len(gap)-2) {
			mark := "→ "
			if i > 0 {
				mark = "  "
			}
			b.WriteString(gap + paint("36", mark+line) + "\n")
		}
	}
	switch {
	case count[doctor.StatusFail] > 0:
		fmt.Fprintf(&b, "\n%s\n", paint("31", fmt.Sprintf("%d failed, %s. A run would fail.", count[doctor.StatusFail], words.Plural(count[doctor.StatusWarn], "warning"))))
	case count[doctor.StatusWarn] > 0:
		fmt.Fprintf(&b, "\n%s\n", paint("33", fmt.Sprintf("Nothing failed, %s.", words.Plural(count[doctor.StatusWarn], "warning"))))
	default:
		fmt.Fprintf(&b, "\n%s\n", paint("32", "Nothing failed."))
	}
	return b.String()
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// wrapText breaks at spaces. A word that is longer than a line is broken where
// the line ends.
func wrapText(text string, width int) []string {
	lines := []string{}
	line := ""
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(line)
		if n > 0 && n+1+utf8.RuneCountInString(word) > width {
			lines, line, n = append(lines, line), "", 0
		}
		if n > 0 {
			line += " "
		}
		line += word
		for utf8.RuneCountInString(line) > width {
			runes := []rune(line)
			lines, line = append(lines, string(runes[:width])), string(runes[width:])
		}
	}
	return append(lines, line)
}

// Clean makes a text that may quote somebody else's harmless, in one line and
// without secrets.
func Clean(redact *secret.Redactor, text string) string {
	text = strings.Join(strings.Fields(redact.Text(text)), " ")
	if runes := []rune(text); len(runes) > doctorText {
		text = string(runes[:doctorText]) + "…"
	}
	return string(actions.Sanitize([]byte(text)))
}

// DoctorJSON is the table for programs.
func DoctorJSON(w io.Writer, version, agent string, rows []doctor.Check) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Version string         `json:"version"`
		Agent   string         `json:"agent"`
		Status  doctor.Status  `json:"status"`
		Checks  []doctor.Check `json:"checks"`
	}{version, cmp.Or(agent, "unknown"), doctor.Worst(rows), rows})
}
