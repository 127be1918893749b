package starter

import (
	"io"
	"io/fs"
	"slices"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// Proposal is what a project lets us see.
type Proposal struct {
	Agent      string // the command, "" when none was found
	Guardrails []Guardrail
}

// Agents are the commands that are looked for, in this order.
func Agents() []string { return catalog.CLIs() }

// maxManifest bounds what is read of one file, in bytes.
const maxManifest = 1 << 20

// Propose looks at the manifests at the top of root and, with lookPath, for an
// agent. Targets and scripts that the project wrote are proposed by name; the
// usual commands of a language only where no make target does their work. What
// cannot be read or understood proposes nothing.
func Propose(root fs.FS, lookPath func(name string) (string, error)) Proposal {
	var p Proposal
	for _, name := range Agents() {
		if _, err := lookPath(name); err == nil {
			p.Agent = name
			break
		}
	}
	targets := targets(root)
	for _, name := range targets {
		p.add("make " + name)
	}
	for _, command := range scripts(root) {
		p.add(command)
	}
	linted := slices.Contains(targets, "lint")
	tested := slices.Contains(targets, "test") || slices.Contains(targets, "check")
	if isFile(root, "go.mod") {
		p.addUnless(linted || slices.Contains(targets, "vet"), "go vet ./...")
		p.addUnless(tested, "go test ./...")
	}
	if isFile(root, "Cargo.toml") {
		p.addUnless(linted, "cargo clippy --all-targets -- -D warnings")
		p.addUnless(tested, "cargo test")
	}
	ruff, pytest := python(root)
	if ruff != "" {
		p.addUnless(linted, ruff)
	}
	if pytest != "" {
		p.addUnless(tested, pytest)
	}
	return p
}

func (p *Proposal) add(command string) {
	p.Guardrails = append(p.Guardrails, Guardrail{Command: command, FailAction: Append})
}

func (p *Proposal) addUnless(covered bool, command string) {
	if !covered {
		p.add(command)
	}
}

// isFile says that the name leads to a regular file.
func isFile(root fs.FS, name string) bool {
	info, err := fs.Stat(root, name)
	return err == nil && info.Mode().IsRegular()
}

// manifest reads the beginning of a regular file; opening anything else could
// wait for ever.
func manifest(root fs.FS, name string) (data []byte, ok bool) {
	if !isFile(root, name) {
		return nil, false
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxManifest))
	return data, err == nil
}
