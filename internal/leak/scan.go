package leak

// File searches a file that is about to be published: its path and its new
// content. old is its content in the base, nil when there was none: what stands
// there already is published. A format counts when old does not hold the same
// match, a known value when new holds it more often than old. Hits are in order
// of their lines, at most one for each rule and line, at most 100.
func (s *Scanner) File(path string, old, new []byte) []Hit { return nil }

// Text searches a text of ours or the agent's: a commit message, the name of a
// file or a branch, the body of a pull request.
func (s *Scanner) Text(text string) []Hit { return nil }

// Mask gives the text with everything blotted out that Text would find, for a
// patch that is kept on this machine. Where a value stands in pieces or in an
// archive, the whole stretch goes.
func (s *Scanner) Mask(text []byte) []byte { return text }

// Skipped counts the known values that are not looked for: they are too short,
// or so common ("postgres") that ordinary files hold them.
func (s *Scanner) Skipped() int { return 0 }
