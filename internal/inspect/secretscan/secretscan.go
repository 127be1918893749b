// Package secretscan looks for secrets in what is about to be published: files,
// commit messages, names of files and branches, texts of pull requests. It is
// pure: bytes go in, hits come out, and a hit never holds what it found.
//
// Two things are looked for.
//
// Known values are the exact secrets of this run. They are found as a program prints
// them by accident and as a lazy attacker writes them: as they are, split over string
// literals, lists or lines, with separators or invisible characters between, reversed,
// in ROT13, in base64 (both alphabets, any offset, wrapped), base32, hex or decimal
// bytes, escaped for URLs, HTML or JSON, in UTF-16 and UTF-32, in gzip, zlib, bzip2, zip
// and tar, and in base64 or hex of all those. Half of a random value is enough.
//
// Formats are the shapes of tokens, keys and passwords that a service or a tool
// gives out: the rules of gitleaks, with the changes of rules.go, and a few of
// our own.
//
// Not found is what somebody hides on purpose: encrypted values, codes of the agent's own
// making, values spread over several files or words, pictures of text. A scan is a net
// for accidents and for the usual tricks, not a proof.
package secretscan

import (
	"sync"

	"github.com/org/ralph-action/internal/lib/secret"
)

// Options are what to look for.
type Options struct {
	// Known are the secrets of this run. Values under eight bytes and values
	// that anybody would guess are not looked for; Scanner.Skipped counts them.
	Known []secret.String
	// Formats looks for the formats of tokens, too.
	Formats bool
	// Allow says of a path that formats do not count there; nil: they do
	// everywhere. Known values count whatever it says.
	Allow func(path string) bool
}

// Scanner is safe for use by many goroutines. A nil Scanner finds nothing.
type Scanner struct {
	known   *known
	allow   func(path string) bool
	formats func() *formats // compiled when first needed; nil: not wanted
	budget  *budget
}

// Hit is one thing that must not be published. Neither field holds any part of
// it.
type Hit struct {
	Line int    // from 1; 0 when it is the name, or the file as a whole
	Rule string // "known-value", or the name of the format: "github-pat"
	Text string // what it is, in a few words: "a secret of this run, in base64"
}

const (
	// KnownRule is the Rule of a hit on one of Options.Known.
	KnownRule = "known-value"
	// FloodRule is the Rule of a content that is made to be slow, or one of many:
	// full of what begins like a secret, or of codes within codes. It was not
	// searched to its end, and counts as if it held a secret.
	FloodRule = "too-much-to-search"
	// UnsearchedRule is the Rule of a content of which a part lies behind the
	// limits of unpack.go, such as a large archive.
	UnsearchedRule = "not-searched"
)

// New compiles no rules.
func New(o Options) *Scanner {
	s := &Scanner{known: newKnown(o.Known), allow: o.Allow, budget: newBudget()}
	if o.Formats {
		s.formats = sync.OnceValue(newFormats)
	}
	return s
}
