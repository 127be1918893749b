package secretscan

import (
	"bytes"
	"strconv"
	"strings"
)

const blot = "***"

// maxKey is the most, in bytes, that a private key has behind its beginning.
const maxKey = 16 << 10

// Mask gives the text with everything blotted out that Text would find, for texts
// that others see. Where a value stands in pieces or in an archive, the whole
// stretch goes, and of a private key all of it.
func (s *Scanner) Mask(text []byte) []byte {
	if s == nil {
		return text
	}
	found := s.stretches("", text, s.formats != nil)
	if len(found) == 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	at := 0
	for _, f := range found {
		if f.to <= at {
			continue
		}
		if f.from > at || at == 0 {
			out = append(out, text[at:max(at, f.from)]...)
			out = append(out, blot...)
		}
		at = f.to
	}
	return append(out, text[at:]...)
}

// MaskPatch is Mask for a patch of git's, for one that is kept on this machine: each
// file is searched as File searches it, under its name, and lines stay lines, so that
// git apply still reads it. Of lines that are not new only known values are blotted
// out: what the patch is made against is published.
func (s *Scanner) MaskPatch(patch []byte) []byte {
	if s == nil {
		return patch
	}
	var out []byte
	for len(patch) > 0 {
		end := len(patch)
		if i := bytes.Index(patch[1:], []byte("\ndiff --git ")); i >= 0 {
			end = i + 2
		}
		out = append(out, s.maskFile(patch[:end])...)
		patch = patch[end:]
	}
	return out
}

// maskFile blots out one file of a patch: its head as a text, its hunks as the
// file that they are of.
func (s *Scanner) maskFile(patch []byte) []byte {
	hunks := len(patch)
	if i := bytes.Index(patch, []byte("\n@@ ")); i >= 0 {
		hunks = i + 1
	}
	out := s.Mask(patch[:hunks:hunks])
	path := patchedPath(patch[:hunks])
	var content []byte // without the first column
	for line := range bytes.Lines(patch[hunks:]) {
		content = append(content, line[1:]...)
	}
	found := s.stretches(path, content, s.formats != nil && (s.allow == nil || !s.allow(path)))
	at := 0
	for line := range bytes.Lines(patch[hunks:]) {
		text := line[1:]
		out = append(out, line[0])
		done := 0
		for _, f := range found {
			if line[0] != '+' && f.rule != KnownRule {
				continue
			}
			from, to := max(f.from-at, done), min(f.to-at, len(bytes.TrimRight(text, "\r\n")))
			if from < to {
				out = append(append(out, text[done:from]...), blot...)
				done = to
			}
		}
		out = append(out, text[done:]...)
		at += len(text)
	}
	return out
}

// patchedPath is the path that the head of a patch names.
func patchedPath(head []byte) string {
	path := ""
	for line := range strings.Lines(string(head)) {
		for _, sign := range []string{"--- ", "+++ "} {
			name, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), sign)
			if !ok || name == "/dev/null" {
				continue
			}
			if plain, err := strconv.Unquote(name); err == nil {
				name = plain
			}
			_, path, _ = strings.Cut(name, "/")
		}
	}
	return path
}

// stretches are the findings in a text, in order, private keys up to their end.
func (s *Scanner) stretches(path string, text []byte, formats bool) []finding {
	found := s.search(path, text, formats)
	for i := range found {
		if found[i].rule == "private-key" {
			found[i].to = endOfKey(text, found[i].to)
		}
	}
	return found
}

// endOfKey is the offset behind a private key, of which at lies inside: behind its
// last line, or, where that is missing, behind the lines that look like its own.
func endOfKey(text []byte, at int) int {
	rest := text[at:min(len(text), at+maxKey)]
	if i := bytes.Index(rest, []byte("-----END")); i >= 0 && !bytes.Contains(rest[:i], []byte("-----BEGIN")) {
		at += i + len("-----END")
		for at < len(text) && text[at] != '\n' && text[at] != '\\' && text[at] != '"' && text[at] != '\'' {
			at++
		}
		return at
	}
	for line := range bytes.Lines(rest) {
		n := 0
		for _, b := range line {
			if isBase64(b) || b == '=' {
				n++
			}
		}
		if n < 16 || bytes.Count(bytes.TrimSpace(line), []byte{' '}) > 2 {
			break
		}
		at += len(bytes.TrimRight(line, "\r\n"))
		if at < len(text) && text[at] == '\r' {
			at++
		}
		if at < len(text) && text[at] == '\n' {
			at++
		}
	}
	return at
}
