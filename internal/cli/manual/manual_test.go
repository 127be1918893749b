package manual_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/org/ralph-action/internal/cli/manual"
)

// line is a command line with everything that completion tells apart.
type line struct {
	Run struct {
		Agent  string `short:"a" values:"claude,codex,custom" help:"The agent. More of it."`
		File   string `file:"" help:"A file."`
		Dry    bool   `help:"Nothing is pushed."`
		Secret string `hidden:""`
	} `cmd:"" default:"withargs" help:"Run."`
	Tasks struct {
		Check struct {
			Format string `enum:"text,json" default:"text" help:".text or\nJSON \\\\ done"`
		} `cmd:"" help:"Check."`
	} `cmd:"" help:"Lists."`
	Prompt struct {
		File string `arg:"" file:""`
		N    string `arg:"" optional:""`
	} `cmd:"" help:"'Loop' over a file."`
	Ghost struct{} `cmd:"" hidden:""`
}

func model(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := kong.New(&line{}, kong.Name("ralph"), kong.Description("Loops."))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		words string // separated by |
		want  string // the same, without what they mean
	}{
		{"", "run|tasks|prompt"},
		{"t", "tasks"},
		{"gh", ""},
		{"tasks|", "check"},
		{"tasks|check|--f", "--format"},
		{"tasks|check|--format|", "text|json"},
		{"run|--agent|c", "claude|codex|custom"},
		{"run|-a|co", "codex"},
		{"run|--agent|=|co", "codex"},
		{"run|--agent|=", "claude|codex|custom"},
		{"run|--agent=co", "codex"},
		{"--whole|run|--agent=co", "--agent=codex"},
		{"run|--agent|codex|--dry|--d", "--dry"},
		{"run|--agent|=|codex|--file|", ":file"},
		{"run|--s", ""},
		{"--ag", "--agent"}, // of the default command
		{"run|--unknown|x|--unknown=", ""},
		{"prompt|", ":file"},
		{"prompt|x|", ""},
		{"run|--|", ":file"},
	} {
		var got []string
		for _, line := range manual.Candidates(model(t), strings.Split(tt.words, "|")) {
			word, _, _ := strings.Cut(line, "\t")
			got = append(got, word)
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("Candidates(%q) = %q, want %q", tt.words, got, tt.want)
		}
	}
	if got, want := manual.Candidates(model(t), []string{"run", "--ag"}), []string{"--agent\tThe agent"}; !slices.Equal(got, want) {
		t.Errorf("Candidates(run --ag) = %q, want %q", got, want)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if text := manual.Script(shell); !strings.Contains(text, " complete ") || !strings.Contains(text, ":file") {
			t.Errorf("Script(%q) does not ask ralph: %q", shell, text)
		}
	}
	check := exec.Command("bash", "-n")
	check.Stdin = strings.NewReader(manual.Script("bash"))
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("bash -n: %v\n%s", err, out)
	}
}

// A line that begins with a dot is a request of ours, and a backslash one of roff's.
func TestPage(t *testing.T) {
	t.Parallel()
	page := manual.Page(model(t), "1.2.3")
	for text := range strings.Lines(page) {
		if request, _, _ := strings.Cut(strings.TrimSpace(text), " "); strings.HasPrefix(text, ".") &&
			!slices.Contains([]string{".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".RI", ".nf", ".fi"}, request) || strings.HasPrefix(text, "'") {
			t.Errorf("the page has the request %q", text)
		}
	}
	for _, want := range []string{
		".TH RALPH 1 \"\" \"ralph 1.2.3\"\n", ".SS run [flags]\n", ".B \\-a, \\-\\-agent=STRING\n", "\n\\&.text or JSON \\e\\e done\n",
		"\n\\&'Loop' over a file.\n", ".TP\n.B 130\ninterrupted\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "ghost") || strings.Contains(page, "secret") {
		t.Error("the page tells of what is hidden")
	}
}
