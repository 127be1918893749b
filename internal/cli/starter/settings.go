package starter

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/shlex"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// schema is docs/settings.schema.json, from which editors know what settings may hold.
//
//go:embed settings.schema.json
var schema []byte

// What settings have that nobody chose.
const (
	DefaultIterations = 10
	DefaultCompletion = "DONE"
	defaultTruncate   = 5000
)

// Settings is what is written to .ralph/settings.json, in this order.
type Settings struct {
	Schema                        string      `json:"$schema"`
	MaximumIterations             int         `json:"maximumIterations"`
	CompletionResponse            string      `json:"completionResponse"`
	OutputTruncateChars           int         `json:"outputTruncateChars"`
	StreamAgentOutput             bool        `json:"streamAgentOutput"`
	IncludeIterationCountInPrompt bool        `json:"includeIterationCountInPrompt"`
	Agent                         Agent       `json:"agent"`
	Guardrails                    []Guardrail `json:"guardrails"`
	SCM                           *SCM        `json:"scm,omitempty"`
}

// Agent is the command that is run and its flags.
type Agent struct {
	Command string   `json:"command"`
	Flags   []string `json:"flags"`
}

// Guardrail is a shell command, where its feedback goes, and what the agent is
// told beside it.
type Guardrail struct {
	Command    string     `json:"command"`
	FailAction FailAction `json:"failAction"`
	Hint       string     `json:"hint,omitempty"`
}

// SCM is the command of a version control system and its tasks.
type SCM struct {
	Command string   `json:"command"`
	Tasks   []string `json:"tasks"`
}

// FailAction says where a failed guardrail's message goes in the next prompt.
type FailAction string

// The fail actions.
const (
	Append  FailAction = "APPEND"
	Prepend FailAction = "PREPEND"
	Replace FailAction = "REPLACE"
)

// Defaults are settings that lack an agent only.
func Defaults() Settings {
	return Settings{
		Schema: path.Base(SchemaPath), MaximumIterations: DefaultIterations, CompletionResponse: DefaultCompletion,
		OutputTruncateChars: defaultTruncate, StreamAgentOutput: true,
		Agent: Agent{Flags: []string{}}, Guardrails: []Guardrail{},
	}
}

// JSON is the file's content.
func (s Settings) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "make lint && make test" stays readable
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// The bounds of what settings hold: characters of a line of text, and
// iterations.
const (
	maxText       = 4000
	maxCompletion = 200
	maxIterations = 10_000
)

// Line checks a text of one line: it may be empty.
func Line(text string) error {
	switch {
	case utf8.RuneCountInString(text) > maxText:
		return fmt.Errorf("that is longer than %d characters", maxText)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("that holds characters that cannot be printed")
	}
	return nil
}

// Words checks a command or a flag: `ralph run` splits it as a shell would.
func Words(text string) error {
	if err := Line(text); err != nil {
		return err
	}
	if _, err := shlex.Split(text); err != nil {
		return errors.New("a quote is not closed, or it ends with a backslash")
	}
	return nil
}

// Command checks the command that starts an agent: a name of ralph's for any program
// of the user's is none.
func Command(text string) error {
	if a := catalog.Of(text); a.Own() {
		return fmt.Errorf("that is no program: give the command that starts your agent, such as claude or %q", "sh agent.sh")
	}
	return Words(text)
}

// Program is what a command starts; empty if it starts nothing.
func Program(command string) string {
	if words, err := shlex.Split(command); err == nil && len(words) > 0 {
		return words[0]
	}
	return ""
}

// Flags splits flags at their commas and checks each. They are never nil.
func Flags(text string) ([]string, error) {
	list := Commas(text)
	for _, flag := range list {
		if err := Words(flag); err != nil {
			return list, fmt.Errorf("%q: %w", flag, err)
		}
	}
	return list, Line(text)
}

// Iterations reads a number of iterations.
func Iterations(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxIterations {
		return 0, fmt.Errorf("give a whole number from 1 to %d", maxIterations)
	}
	return n, nil
}

// Completion checks what the agent answers when it is done.
func Completion(text string) error {
	if strings.ContainsAny(text, "<>") || utf8.RuneCountInString(text) > maxCompletion {
		return fmt.Errorf("give the words that stand inside the tag, without < and >, at most %d characters", maxCompletion)
	}
	return nil
}

// ParseFailAction reads a fail action in any case; blank means Append.
func ParseFailAction(text string) (FailAction, error) {
	switch action := FailAction(strings.ToUpper(text)); action {
	case "":
		return Append, nil
	case Append, Prepend, Replace:
		return action, nil
	}
	return "", errors.New("give APPEND, PREPEND or REPLACE")
}

// Commas splits a list at its commas and leaves blanks out. It is never nil.
func Commas(text string) []string {
	list := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
