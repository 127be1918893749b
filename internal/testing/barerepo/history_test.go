package barerepo

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// What a branch has beyond another, and whether it contains it, is what git says.
func TestHistoryIsThatOfGit(t *testing.T) {
	t.Parallel()
	gits := func(r gitserver.Repository, args ...string) string {
		t.Helper()
		out, err := git(r, args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(out, "\n")
	}
	r, err := gitserver.Init(filepath.Join(t.TempDir(), "r.git"), "main")
	if err != nil {
		t.Fatal(err)
	}
	say := func(branch, message string) string {
		t.Helper()
		id, err := r.Commit(branch, message, map[string]gitserver.File{"a": {Content: message}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ids := map[string]string{"root": say("main", "root"), "base": say("main", "base")}
	tree := gits(r, "rev-parse", "main^{tree}")
	chain := func(parents []string, message, more string) string {
		t.Helper()
		text := "tree " + tree + "\n"
		for _, p := range parents {
			text += "parent " + p + "\n"
		}
		text += "author A  B <a@example.com> 1767225600 +0100\ncommitter C <c@example.com> 1767225601 +0000\n" + more + "\n" + message
		id, err := r.Write("commit", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ids["work"] = chain([]string{ids["base"]}, "\n\n  first line  \nsecond line\n\nbody\n", "")
	ids["more"] = chain([]string{ids["work"]}, "no line end", "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n")
	ids["silent"] = chain([]string{ids["more"]}, "", "")
	ids["other"] = say("main", "other")
	ids["merge"] = chain([]string{ids["other"], ids["more"]}, "merge\n", "")
	ids["after merge"] = chain([]string{ids["merge"]}, "after\n", "")
	ids["orphan"] = chain(nil, "orphan\n", "")
	ids["latin"] = chain([]string{ids["base"]}, "latin\n", "encoding ISO-8859-1\n")
	for _, from := range []string{"base", "merge", "latin"} {
		for to, head := range ids {
			base := ids[from]
			want := gits(r, "log", "--topo-order", "--format=%H|%s|%an <%ae>", base+".."+head)
			var got []string
			for _, c := range Between(r, base, head) {
				got = append(got, c.SHA+"|"+c.Subject+"|"+c.Author)
			}
			if strings.Join(got, "\n") != want {
				t.Errorf("Between(%s, %s) = %q, want as git %q", from, to, got, want)
			}
			_, err := git(r, "merge-base", "--is-ancestor", head, base)
			if got, want := Reaches(r, base, head), err == nil; got != want {
				t.Errorf("Reaches(%s, %s) = %v, want as git %v", from, to, got, want)
			}
			_, plain := line(r, base, head)
			if want := from != "latin" && to != "latin" && (from == "merge" || to != "merge" && to != "after merge"); plain != want {
				t.Errorf("line(%s, %s) is known: %v, want %v", from, to, plain, want)
			}
		}
	}
}
