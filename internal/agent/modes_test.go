package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// In text mode codex's answer is what it leaves in its file, which is removed;
// its stdout counts when there is no such file, its stderr never. // 001-12
func TestPlainAnswerFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		how     string
		answer  string
		failure string
	}{
		{"file", "It is done.\nDONE in a file", "none"},
		{"none", "DONE on stdout", "none"},
		{"link", "DONE on stdout", "none"},
		{"pipe", "DONE on stdout", "none"},
		{"fails", "DONE on stdout", "crash"},
		{"giant", strings.Repeat("x", driver.MaxText), "none"},
	} {
		t.Run(tt.how, func(t *testing.T) {
			t.Parallel()
			o := player(t, "codex", "answer", "")
			o.Plain, o.Scratch = true, t.TempDir()
			o.Env = append(o.Env, "AGENT_ANSWER="+tt.how)
			got := run(t, t.Context(), o, "answer DONE when it is done")
			if got.Turn.FinalText != tt.answer || agenttest.FailureKind(got.Failure) != tt.failure {
				t.Errorf("FinalText = %q, failure %+v, want %q, %s", driver.Clip(got.Turn.FinalText, 80), got.Failure, driver.Clip(tt.answer, 80), tt.failure)
			}
			if texts := strings.Join(got.Searchable(), ""); strings.Contains(texts, "stderr") || len(texts) > 1<<20 {
				t.Errorf("its words = %q, want none of stderr and at most %d bytes", driver.Clip(texts, 80), 1<<20)
			}
			if u := got.Turn.Usage; !u.Cost.Unknown || !u.Tokens.Unknown || got.Turn.CountsTools {
				t.Errorf("turn = %+v, want no cost, no tokens and no tools", got.Turn)
			}
			left, err := os.ReadDir(o.Scratch)
			if err != nil {
				t.Fatal(err)
			}
			left = slices.DeleteFunc(left, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".real") })
			if len(left) > 0 {
				t.Errorf("the folder still holds %v", left)
			}
		})
	}
}

// Where a verdict is believed, a file that a test of the reviewed work may have
// written is no answer.
func TestPlainAnswerOfAReviewer(t *testing.T) {
	t.Parallel()
	o := player(t, "codex", "answer", "")
	o.Plain, o.Merge, o.Scratch = true, true, t.TempDir()
	o.Judges = func() bool { return true }
	o.Env = append(o.Env, "AGENT_ANSWER=file")
	if got := run(t, t.Context(), o, "review it"); got.Turn.FinalText != "no -o" {
		t.Errorf("FinalText = %q, want what stdout says", got.Turn.FinalText)
	}
}

// Nothing is written outside the folder, whatever the child puts in the
// folder's place.
func TestScratchReplaced(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "scratch")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o := player(t, "cline", "task", "")
	o.Plain, o.Scratch = true, dir
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(parent, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), ralph.Prompt{Text: strings.Repeat("p ", driver.MaxArgument)}, func(ralph.Event) {}); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
		t.Errorf("%v was written where a link led", left)
	}
}

// A prompt reaches each CLI the way it takes it. // 000-13
func TestPromptDelivery(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30<<10) + "the end."
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		prompt string
		want   []string
	}{
		{"claude", nil, long, []string{"stdin 153608, "}},
		{"codex", func(o *Options) { o.Scratch = "" }, long, []string{"stdin 153608, argument 1"}},
		{"amp", nil, long, []string{"stdin 153608, argument 2"}},
		{"cline", nil, "do it all", []string{"stdin 0, argument 9"}},
		{"cline", nil, long, []string{"stdin 0, argument ", "file of 153608 bytes, mode -rw-------, ends \"the end.\""}},
		{"cline", func(o *Options) { o.Exact, o.ExactArgs = true, []string{"--x"} }, "do it all", []string{"stdin 0, argument 9"}},
		{"text", nil, "do it all", []string{"stdin 9, "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := player(t, tt.name, "task", "")
			o.Plain, o.Scratch = true, t.TempDir()
			if tt.change != nil {
				tt.change(&o)
			}
			got := run(t, t.Context(), o, tt.prompt)
			for _, want := range tt.want {
				if !strings.Contains(got.Turn.FinalText, want) {
					t.Errorf("the agent says %q, want it to hold %q", got.Turn.FinalText, want)
				}
			}
			if o.Scratch != "" {
				if left, err := os.ReadDir(o.Scratch); err != nil || len(left) > 0 {
					t.Errorf("the folder holds %v, %v", left, err)
				}
			}
		})
	}
}

func TestPromptTooLong(t *testing.T) {
	t.Parallel()
	o := player(t, "cline", "task", "")
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Run(t.Context(), ralph.Prompt{Text: strings.Repeat("p", driver.MaxArgument+1)}, func(ralph.Event) {})
	if err == nil || !strings.Contains(err.Error(), "102401 bytes are too long") {
		t.Errorf("Run = %v, want that the prompt is too long", err)
	}
}

// 001-13
func TestPromptLog(t *testing.T) {
	t.Parallel()
	for _, name := range Known() {
		var kept []string
		o := player(t, name, "task", "")
		o.Plain, o.PromptLog = true, func(name, text string) { kept = append(kept, name+": "+text) }
		a, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), ralph.Prompt{Text: "do it all", Iteration: 7}, func(ralph.Event) {}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"prompt_007.txt: do it all"}; name == "codex" && !slices.Equal(kept, want) || name != "codex" && kept != nil {
			t.Errorf("%s: prompts kept = %q", name, kept)
		}
	}
}

// With exact arguments in text mode both outputs are one, searched as a whole
// but for one echo of the prompt. // 000-14, 000-22, 000-23, 000-28
func TestExactPlain(t *testing.T) {
	t.Parallel()
	o := player(t, "codex", "both", "")
	o.Exact, o.Plain, o.ExactArgs = true, true, []string{"exec"}
	got := run(t, t.Context(), o, "p")
	if texts := strings.Join(got.Searchable(), ""); texts != "one\ntwo\nthree\n" {
		t.Errorf("its words = %q, want both outputs in order", texts)
	}
	o.Exact = false
	got = run(t, t.Context(), o, "p")
	if texts := strings.Join(got.Searchable(), ""); texts != "one\nthree\n" {
		t.Errorf("its words in text mode = %q, want stdout", texts)
	}
}

// Streams, read from a child. // 001-11, 001-42, 001-43
func TestRunStreams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file string }{{"codex", "codex/success_tool"}, {"cline", "cline/success_tool"}} {
		path, err := filepath.Abs(agenttest.Testdata(filepath.Dir(tt.file), filepath.Base(tt.file)+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		got := run(t, t.Context(), player(t, tt.name, "print", path), "do it all")
		if !got.Says(agenttest.Marker) || got.Failure != nil || got.Turn.Tools != 1 || got.Turn.Usage.Tokens.Output != 100 {
			t.Errorf("%s: says = %v, turn = %+v", tt.name, got.Says(agenttest.Marker), got.Turn)
		}
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	login := t.TempDir()
	for _, path := range []string{".codex/auth.json", ".local/share/amp/secrets.json", ".cline/data/x"} {
		if err := os.MkdirAll(filepath.Join(login, filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(login, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	known := drivers()
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want bool
	}{
		{"codex", nil, nil, false},
		{"codex", []string{"HOME=" + t.TempDir()}, nil, false},
		{"codex", []string{"HOME=" + login}, nil, true},
		{"codex", []string{"CODEX_HOME=" + login + "/.codex"}, nil, true},
		{"codex", []string{"OPENAI_API_KEY=k"}, nil, true},
		{"codex", []string{"CODEX_API_KEY=k"}, nil, true},
		{"codex", []string{"OPENAI_FEDERATION_RULE_ID=r", "OPENAI_IDENTITY_TOKEN_FILE=/f"}, nil, true},
		{"codex", []string{"OPENAI_FEDERATION_RULE_ID=r"}, nil, false},
		{"claude", []string{"ANTHROPIC_FEDERATION_RULE_ID=r", "ANTHROPIC_IDENTITY_TOKEN=t"}, nil, true},
		{"claude", []string{"ANTHROPIC_IDENTITY_TOKEN=t"}, nil, false},
		{"amp", []string{"HOME=" + t.TempDir()}, nil, false},
		{"amp", []string{"HOME=" + login}, nil, true},
		{"amp", []string{"AMP_API_KEY=k"}, nil, true},
		{"cline", []string{"HOME=" + t.TempDir()}, nil, false},
		{"cline", []string{"HOME=" + login}, nil, true},
		{"cline", []string{"GROQ_API_KEY=k"}, nil, true},
		{"cline", nil, []string{"-k", "x"}, true},
		{"text", nil, nil, true},
	} {
		if err := known[tt.name].Ready(Options{Env: tt.env, Args: tt.args}); (err == nil) != tt.want {
			t.Errorf("%s: ready(%q, %q) = %v, want ready = %v", tt.name, tt.env, tt.args, err, tt.want)
		}
	}
	for _, name := range Known() {
		if got := Credentials(name); (len(got) == 0) != (name == "text" || name == "custom") || slices.Contains(got, "AWS_ACCESS_KEY_ID") {
			t.Errorf("Credentials(%s) = %q", name, got)
		}
	}
	if got := Credentials("none"); got != nil {
		t.Errorf("Credentials(none) = %q, want none", got)
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	known := drivers()
	login := t.TempDir()
	if err := os.WriteFile(filepath.Join(login, "auth.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, env, want string }{
		{"codex", "CLAUDECODE=1 OPENAI_API_KEY=k", "OPENAI_API_KEY=k CODEX_API_KEY=k"},
		{"codex", "OPENAI_API_KEY=k CODEX_API_KEY=c", "OPENAI_API_KEY=k CODEX_API_KEY=c"},
		{"codex", "OPENAI_API_KEY=k CODEX_HOME=" + login, "OPENAI_API_KEY=k CODEX_HOME=" + login},
		{"amp", "CLAUDECODE=1 AMP_API_KEY=k", "AMP_API_KEY=k"},
		{"cline", "CLAUDECODE=1 CLINE_NO_AUTO_UPDATE=0", "CLINE_NO_AUTO_UPDATE=0 CLINE_TELEMETRY_DISABLED=1"},
	} {
		if got := strings.Join(known[tt.name].Environ(Options{Env: strings.Fields(tt.env)}), " "); got != tt.want {
			t.Errorf("%s: environ(%s) = %s, want %s", tt.name, tt.env, got, tt.want)
		}
	}
}
