package memory

import (
	"slices"
	"strings"
)

// The trailers of a checkpoint: the run's memory on the branch.
const (
	TrailerRun       = "Ralph-Run"
	TrailerIteration = "Ralph-Iteration"
	TrailerStory     = "Ralph-Story"
	TrailerCost      = "Ralph-Cost-USD"
	// TrailerAtLeast stands instead of TrailerCost where only a part of the cost
	// is known.
	TrailerAtLeast   = "Ralph-Cost-At-Least-USD"
	TrailerEstimated = "Ralph-Cost-Estimated" // "true": a part of the cost was computed from tokens
	TrailerOutcome   = "Ralph-Outcome"
	TrailerLeftOut   = "Ralph-Left-Out" // a path, as in a query of a URL, and the id of what is published there
	trailerSignoff   = "Signed-off-by"
)

// Forged says that a message that is not ours holds a trailer of ours, anywhere:
// what is appended to a message can make a trailer of any line.
func Forged(message string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(message, func(r rune) bool { return r == '\n' || r == '\r' }), isOurs)
}

// isOurs says that a line is a trailer of ours, in whatever spelling a reader
// would take for it.
func isOurs(line string) bool {
	name, _, is := strings.Cut(line, ":")
	if !is {
		return false
	}
	name = strings.TrimSpace(name)
	for _, ours := range []string{TrailerRun, TrailerIteration, TrailerStory, TrailerCost, TrailerAtLeast, TrailerEstimated, TrailerOutcome, TrailerLeftOut} {
		if strings.EqualFold(name, ours) {
			return true
		}
	}
	return false
}

// speaksFor says that a line is a trailer by which a message would speak for a
// person, or tell the forge not to check the commit, wherever it stands: forges
// do not agree on where the trailers of a message end.
func speaksFor(line string) bool {
	name, _, is := strings.Cut(line, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	return is && (name == "skip-checks" || name == "request-checks" || strings.HasSuffix(name, "-by") && !strings.Contains(name, " "))
}

// trailerBlock is the lines of the trailers that a message ends in; none when
// its last paragraph is its subject or prose. The rule is that of git (2.39,
// trailer.c): every line is a trailer or continues one, or one of them is
// git's own and at most three of four are prose.
func trailerBlock(message string) []string {
	lines := strings.Split(strings.TrimRight(message, " \t\r\n"), "\n")
	title := 0
	for title < len(lines) && !blank(lines[title]) {
		title++
	}
	trailers, prose, continued, gits := 0, 0, 0, false
	for i := len(lines) - 1; i >= title; i-- {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "#"):
			prose, continued = prose+continued, 0
		case blank(line):
			prose += continued
			if trailers > 0 && prose == 0 || gits && trailers*3 >= prose {
				return lines[i+1:]
			}
			return nil
		case strings.HasPrefix(line, trailerSignoff+": "), strings.HasPrefix(line, "(cherry picked from commit "):
			trailers, continued, gits = trailers+1, 0, true
		case line[0] == ' ' || line[0] == '\t':
			continued++
		case isTrailer(line):
			trailers, continued = trailers+1, 0
		default:
			prose, continued = prose+continued+1, 0
		}
	}
	return nil
}

func blank(line string) bool { return strings.Trim(line, " \t\r\v\f") == "" }

// isTrailer says that a line begins with a name of letters, digits and hyphens,
// perhaps spaces, and a colon.
func isTrailer(line string) bool {
	name, _, is := strings.Cut(line, ":")
	name = strings.TrimRight(name, " \t")
	if !is || name == "" {
		return false
	}
	for i := range len(name) {
		if c := name[i] | 0x20; (c < 'a' || c > 'z') && (name[i] < '0' || name[i] > '9') && name[i] != '-' {
			return false
		}
	}
	return true
}
