package file_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// accepted are files and the variables they set.
func accepted() []struct {
	name, file string
	want       map[string]string
} {
	type vars = map[string]string
	return []struct {
		name, file string
		want       map[string]string
	}{
		{"empty", "", vars{}},
		{"comments and blank lines", "\n# one\n   # two\n\t\n#", vars{}},
		{"a word", "A=specs", vars{"A": "specs"}},
		{"an empty value", "A=\nB=''\nC=\"\"\n", vars{"A": "", "B": "", "C": ""}},
		{"a comment behind", "A=x # the x\nB=x#y\nC=#z\n", vars{"A": "x", "B": "x#y", "C": "#z"}},
		{"indented, with tabs", "\t A=1\t\t# c\n", vars{"A": "1"}},
		{"several on a line", "A=1 B=2\tC=\"3 4\"", vars{"A": "1", "B": "2", "C": "3 4"}},
		{"export", "export A=1\n  export\tB=2 C=3\nD=4\nexport D\n", vars{"A": "1", "B": "2", "C": "3", "D": "4"}},
		{"single quotes", `A='$X "a" \n ` + "`b`" + ` # c'`, vars{"A": `$X "a" \n ` + "`b`" + ` # c`}},
		{"single quotes over lines", "A='a\n b\n\nc'\nB=1", vars{"A": "a\n b\n\nc", "B": "1"}},
		{"double quotes", `A="it's # \" \\ \$X \` + "`" + ` \n"`, vars{"A": "it's # \" \\ $X ` \\n"}},
		{"double quotes over lines", "A=\"a\nb\\\nc\"", vars{"A": "a\nbc"}},
		{"backslashes", `A=a\ b\\\"\'\$c\#`, vars{"A": `a b\"'$c#`}},
		{"a line that goes on", "A=a\\\nb\nB=1 \\\n  C=2\n", vars{"A": "ab", "B": "1", "C": "2"}},
		{"pieces", `A=a"b c"'d e'\ f""`, vars{"A": "ab cd e f"}},
		{"an equals sign", "A==b=c", vars{"A": "=b=c"}},
		{"patterns and brackets", "A=*.go[a]?{b,c}!", vars{"A": "*.go[a]?{b,c}!"}},
		{"earlier variables", "A=1\nB=$A-${A}x\nC=\"$A ${B}\"\nD='$A'\n", vars{"A": "1", "B": "1-1x", "C": "1 1-1x", "D": "$A"}},
		{"earlier on the line", "A=1 B=$A", vars{"A": "1", "B": "1"}},
		{"no splitting", "A='a  b *'\nB=$A", vars{"A": "a  b *", "B": "a  b *"}},
		{"a dollar", `A=$ B="$" C=a$ D="a$ b" E=$,`, vars{"A": "$", "B": "$", "C": "a$", "D": "a$ b", "E": "$,"}},
		{"a default", "E=\nA=${X:-a b} B=\"${X:-c d}\" C=${A:-no} D=${E:-yes} F=${X:-}", vars{"A": "a b", "B": "c d", "C": "a b", "D": "yes", "E": "", "F": ""}},
		{"a default in a default", "A=1\nB=${X:-${Y:-$A}/b}\n", vars{"A": "1", "B": "1/b"}},
		{"a default that assigns", "A=${X:=a} B=$X\nC=\"${A:=no}${Y:=${Z:=z}}\"\n", vars{"A": "a", "X": "a", "B": "a", "C": "az", "Y": "z", "Z": "z"}},
		{"a default that is not used", "A=1\nB=${A:-$X}${A:-${Y:=2}}\n", vars{"A": "1", "B": "11"}},
		{"the later one wins", "A=1\nA=2\nB=1\nB=\n", vars{"A": "2", "B": ""}},
		{"the same name again", "A=a\nA=$A:b\n", vars{"A": "a:b"}},
		{"not only ASCII", "A=ä B='日本' C=\"é\" D=${X:-ü}", vars{"A": "ä", "B": "日本", "C": "é", "D": "ü"}},
		{"~ within a word", "A=a~b B='~' C=x\\~", vars{"A": "a~b", "B": "~", "C": "x~"}},
		{"names", "_a1=1 export2=2", vars{"_a1": "1", "export2": "2"}},
	}
}

// 000-05: the file is parsed as a shell reads it.
func TestShellFile(t *testing.T) {
	t.Parallel()
	for _, tt := range accepted() {
		_, got, err := shell(tt.file)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q =\n%q, %v; want\n%q", tt.name, tt.file, got, err, tt.want)
		}
		windows := strings.ReplaceAll(tt.file, "\n", "\r\n")
		if _, got, err := shell("\ufeff" + windows); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s, CRLF: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// A real shell that sources an accepted file sees the same values.
func TestShellFileAsShell(t *testing.T) {
	t.Parallel()
	for _, tt := range accepted() {
		sameAsShell(t, tt.file, tt.want)
	}
	// So it does with files nobody thought of. The alphabet can name no
	// program, and PATH is empty.
	random := rand.New(rand.NewSource(1))
	pieces := []string{"A=", "B=", "a", "b", " ", "\n", "'", "'", `"`, `"`, `\`, "$A", "${A}", "${B:-", "${A:=", "}", "$", "#", "=", "~", ":", "{", "*", "ä", "export ", "\t"}
	tried := 0
	for range 5_000 {
		var b strings.Builder
		b.WriteString("A=x\n")
		for range 1 + random.Intn(12) {
			b.WriteString(pieces[random.Intn(len(pieces))])
		}
		_, want, err := shell(b.String())
		if err != nil || len(want) < 2 || tried == 100 {
			continue
		}
		if strings.Contains(b.String(), "export") && strings.Contains(b.String(), "$") {
			continue // shells do not agree whether such a value is split
		}
		tried++
		sameAsShell(t, b.String(), want)
	}
	if tried < 50 {
		t.Errorf("%d random files were compared, want more", tried)
	}
}

func sameAsShell(t *testing.T, file string, want map[string]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(want))
	script := `. "$0"`
	for _, name := range names {
		script += fmt.Sprintf("\nprintf '%%s\\001' \"${%s?}\"", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script, path)
	cmd.Env = []string{"PATH=", "HOME=/home/nobody"}
	out, err := cmd.CombinedOutput()
	var lines string
	for _, name := range names {
		lines += want[name] + "\x01"
	}
	if err != nil || string(out) != lines {
		t.Errorf("sh of %q = %q, %v; we read %q", file, out, err, lines)
	}
}

func TestShellFileProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, want string }{
		{"A = 1", "config:1: no space is allowed around =: write NAME=VALUE, with quotes around a value that has spaces"},
		{"\nA= 1", "config:2: no space is allowed around =: write NAME=VALUE, with quotes around a value that has spaces"},
		{"A =1", "config:1: no space is allowed around =: write NAME=VALUE, with quotes around a value that has spaces"},
		{"A=1 echo", `config:1: "echo" would be a command: the config is parsed, never run; NAME=VALUE is expected`},
		{"echo hi > there", `config:1: "echo" would be a command: the config is parsed, never run; NAME=VALUE is expected`},
		{"source other", `config:1: "source" would be a command: the config is parsed, never run; NAME=VALUE is expected`},
		{". ./other", `config:1: "." would be a command: the config is parsed, never run; NAME=VALUE is expected`},
		{"if true", `config:1: "if" would be a command: the config is parsed, never run; NAME=VALUE is expected`},
		{`: "${A:=1}"`, `config:1: ":" would be a command: the config is parsed, never run; NAME=VALUE is expected`},
		{"readonly A=1", `config:1: "readonly" would be a command: the config is parsed, never run; NAME=VALUE is expected`},
		{"f() { :; }", "config:1: a function or command is not allowed: the config is parsed, never run"},
		{"A=$(date)", "config:1: a command in $(…) is not allowed: the config is parsed, never run; write \\$ for the character"},
		{"A=$((1+1))", "config:1: a command in $(…) is not allowed: the config is parsed, never run; write \\$ for the character"},
		{"A=\"x\ny $(date)\"", "config:2: a command in $(…) is not allowed: the config is parsed, never run; write \\$ for the character"},
		{"A=`date`", "config:1: a command in backticks is not allowed: the config is parsed, never run"},
		{"A=\"`\"", "config:1: a command in backticks is not allowed: the config is parsed, never run; write \\` for the character"},
		{"A=1; B=2", "config:1: ; is not allowed without quotes: the config is parsed, never run"},
		{"A=1 && B=2", "config:1: & is not allowed without quotes: the config is parsed, never run"},
		{"A=a|b", "config:1: | is not allowed without quotes: the config is parsed, never run"},
		{"A=a>b", "config:1: > would redirect: the config is parsed, never run; put the value into quotes"},
		{"A=<(x)", "config:1: < would redirect: the config is parsed, never run; put the value into quotes"},
		{"A=(a b)", "config:1: arrays are not understood: give one value"},
		{"A[0]=a", "config:1: arrays are not understood: give one value"},
		{"A+=a", `config:1: += is not understood: write A="${A}…"`},
		{"(A=1)", "config:1: ( is not allowed without quotes: the config is parsed, never run"},
		{"MY-KEY=1", `config:1: "MY-KEY" is no name of a variable: give letters, digits and underscores, not beginning with a digit`},
		{"1A=1", `config:1: "1A" is no name of a variable: give letters, digits and underscores, not beginning with a digit`},
		{strings.Repeat("A", 101) + "=1", "config:1: the name of a variable has 101 characters: at most 100"},
		{"A=1\nB='a\nb\n", "config:2: the quote ' that is opened here is never closed"},
		{"A=1\n\nB=\"a\nb\nC=1\n", "config:3: the quote \" that is opened here is never closed"},
		{"A=x\\", "config:1: the value ends with a backslash: put it into quotes"},
		{"A=$HOME/x", "config:1: $HOME is not set above in this file, and nothing else is looked at"},
		{"A=$B\nB=1", "config:1: $B is not set above in this file, and nothing else is looked at"},
		{"A=${B}", "config:1: $B is not set above in this file, and nothing else is looked at"},
		{"A=${X:-$Y}", "config:1: $Y is not set above in this file, and nothing else is looked at"},
		{"A=$1", "config:1: $1 means nothing here: only variables of this file are known; write \\$ for the character"},
		{`A="$@"`, "config:1: $@ means nothing here: only variables of this file are known; write \\$ for the character"},
		{"A=1\nB=${A%x}", "config:2: of ${…} only ${NAME}, ${NAME:-default} and ${NAME:=default} are understood"},
		{"A=1\nB=${#A}", "config:2: of ${…} only ${NAME}, ${NAME:-default} and ${NAME:=default} are understood"},
		{`A="${X:-it's}"`, "config:1: quotes, backslashes and line ends are not understood within ${…}: give the default on a line of its own"},
		{"A=${X:-a", "config:1: } is missing"},
		{"A=$'a'", "config:1: $'…' is not understood: put the text into plain quotes"},
		{"A=~/x", "config:1: ~ is not expanded: write the folder out, or put it into quotes"},
		{"A=/a:~/x", "config:1: ~ is not expanded: write the folder out, or put it into quotes"},
		{"A=${X:-~}", "config:1: ~ is not expanded: write the folder out"},
		{"export A", "config:1: \"A\" has no value here: write export A=VALUE"},
		{"export", "config:1: export of nothing is not understood: write export NAME=VALUE"},
		{"export # A=1", "config:1: export of nothing is not understood: write export NAME=VALUE"},
		{"export -p", `config:1: "-p" would be a command: the config is parsed, never run; NAME=VALUE is expected`},
		// What follows from one mistake is not a mistake of its own.
		{"A=$(date)\nB=$A\n", "config:1: a command in $(…) is not allowed: the config is parsed, never run; write \\$ for the character"},
		{"RALPH_IDLE_TIMEOT=5m", "config:1: RALPH_IDLE_TIMEOT: there is no such setting; did you mean RALPH_IDLE_TIMEOUT?"},
		{"RALPH_QQQQQQ=", "config:1: RALPH_QQQQQQ: there is no such setting"},
		{"RALPH_MAX_ITERATIONS=5", "config:1: RALPH_MAX_ITERATIONS: it is called MAX_ITERATIONS here"},
		{"RALPH_MAXIMUM_ITERATIONS=5", "config:1: RALPH_MAXIMUM_ITERATIONS: it is called MAX_ITERATIONS here"},
		{"RALPH_DELAY=1s\nRALPH_RESTART_DELAY=2s", "config:2: RALPH_RESTART_DELAY: it means the same as RALPH_DELAY, which is given, too: give only one of them"},
		{"RALPH_AGENT=claude", "config:1: RALPH_AGENT: it is called AGENT_TYPE here"},
		{"RALPH_GITHUB_TOKEN=x", "config:1: RALPH_GITHUB_TOKEN: a token does not belong in a file: give it as an input, from a secret"},
		{"RALPH_CONFIG=x", "config:1: RALPH_CONFIG: it cannot be set in the file: give it as an input or a flag"},
	} {
		_, _, err := shell(tt.file)
		if got := problems(t, err); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%.80q:\n%q, want\n%q", tt.file, got, tt.want)
		}
	}
}

// Every line that is wrong is told, and what is told is bounded.
func TestShellFileAllProblems(t *testing.T) {
	t.Parallel()
	_, _, err := shell("A=`x`\nB=1;\necho\nC=3\nif x; then\n  D=$E\nfi\n")
	if got := problems(t, err); len(got) != 6 {
		t.Errorf("six bad lines: %q", got)
	}
	var bomb strings.Builder
	bomb.WriteString("A0=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n")
	for i := range 60 {
		fmt.Fprintf(&bomb, "A%d=$A%d$A%d\n", i+1, i, i)
	}
	for name, file := range map[string]string{
		"bomb":        bomb.String(),
		"in quotes":   "A='" + strings.Repeat("a", 1<<20) + "'\nB=\"" + strings.Repeat("$A", 1000) + "\"\n",
		"many copies": "A='" + strings.Repeat("a", 1<<19) + "'\n" + strings.Repeat("B=$A\n", 10_000),
		"defaults":    "A=" + strings.Repeat("${X:-", 200_000) + strings.Repeat("}", 200_000),
		"commands":    strings.Repeat("ls\n", 30_000),
		"one line":    strings.Repeat("A", 1<<20),
		"operators":   strings.Repeat(";", 1<<20),
		"dollars":     `A="` + strings.Repeat("$(", 50_000) + `"`,
		"quotes":      strings.Repeat("A='\n", 200_001),
	} {
		_, _, err := shell(file)
		if err == nil || len(err.Error()) > 20_000 {
			t.Errorf("%s: %.200v, want a bounded error", name, err)
		}
	}
}

func TestShellFileValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file string
		want       map[string]string
	}{
		{"000-39 retries", "MAX_RETRIES=5", map[string]string{"max-retries": "5"}},
		{"000-05 an empty value does not win", "MAX_RETRIES=\nAGENT_CLI=''\nAGENT_ARGS=\"\"\n", map[string]string{}},
		{"the last value, when it is empty", "MAX_RETRIES=5\nMAX_RETRIES=\n", map[string]string{}},
		{"000-17 the kind of agent", "AGENT_TYPE=codex", map[string]string{"agent": "codex"}},
		{"000-23 the five", "AGENT_CLI='my cli'\nAGENT_ARGS='-x --json'\nAGENT_OUTPUT_FORMAT=json\nAGENT_RESPONSE_FILTER='.a|.b'\nAGENT_DISPLAY_FILTER='cat -v'\n",
			map[string]string{"agent-command": "my cli", "agent-exact-args": "-x --json", "output-format": "json", "response-filter": ".a|.b", "display-filter": "cat -v"}},
		{"000-12 a variable of one's own", "SPECS_DIR=docs\nPROJECT=x\nralph_x=1", map[string]string{}},
		{"any other input", "RALPH_IDLE_TIMEOUT=5m\nexport RALPH_GUARDRAILS='make lint\nmake test'\n", map[string]string{"idle-timeout": "5m", "guardrails": "make lint\nmake test"}},
		{"000-22 text", "AGENT_TYPE=text", map[string]string{"agent": "text"}},
		{"000-22 text with an own program", "AGENT_TYPE=text\nAGENT_CLI=my\nAGENT_ARGS=-a", map[string]string{"agent": "text", "agent-command": "my", "agent-exact-args": "-a"}},
		{"000-22 text with an empty program", "AGENT_TYPE=text\nAGENT_CLI=\nAGENT_ARGS=", map[string]string{"agent": "text"}},
		{"from a default", "AGENT_TYPE=${TYPE:-amp}\nX=${MAX_RETRIES:=7}", map[string]string{"agent": "amp", "max-retries": "7"}},
	} {
		got, _, err := shell(tt.file)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// A quoted value comes back as it is; anything else is judged, in bounds, the
// same way each time.
func FuzzShellFile(f *testing.F) {
	for _, tt := range accepted() {
		f.Add(tt.file)
	}
	for _, seed := range []string{"A=$(", "A=${", "A=${X:-", "A=${X:=${X:=", "A='", "A=\"\\", "A=\\", "export", "export A", "A=1 B", "RALPH_X=1", "A=`", "A=(", "$A=1", "\x00=1", "A=\r\n", "A[=", "AGENT_TYPE=text"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, first, err := shell(text)
		same, second, again := shell(text)
		if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(values, same) || fmt.Sprint(err) != fmt.Sprint(again) {
			t.Errorf("Shell(%q) differs from one time to the next: %v, %v", text, err, again)
		}
		for name, value := range first {
			if len(value) > 4<<20 || len(name) > 100 {
				t.Errorf("Shell(%.80q) has %d bytes in %.100s", text, len(value), name)
			}
		}
		if utf8.ValidString(text) {
			onePerLine(t, text, "config:", err)
		}
		if strings.Contains(text, "\r") {
			return
		}
		quoted := "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		_, got, err := shell("# c\nX=" + quoted + " # c\nY=\"$X\"\n")
		if err != nil || got["X"] != text || got["Y"] != text {
			t.Errorf("X=%s gives %q, %v", quoted, got, err)
		}
	})
}
