package secretscan

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/lib/secret"
)

func rulesOf(hits []Hit) []string {
	var all []string
	for _, h := range hits {
		all = append(all, h.Rule)
	}
	return all
}

func gz(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(content)
	_ = w.Close()
	return b.Bytes()
}

// Many files that are each a little slow are not searched one after the other
// for hours: they are refused, and ordinary ones are not.
func TestManySlowFilesAreRefused(t *testing.T) {
	t.Parallel()
	const known, pat = "q8W" + "2eR4tY6uI8oP0-aS1dF3", "ghp_" + "7dK2mQ9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE"
	s := New(Options{Known: []secret.String{secret.New(known)}, Formats: true})
	s.budget.work.Store(1 << 20)
	slow := []byte(strings.Repeat("curl -H authorization slack xoxb- glpat- ", 500))
	var refused []Hit
	for n := 0; n < 1000 && refused == nil; n++ {
		refused = s.File(fmt.Sprint(n, ".txt"), nil, slow)
	}
	if len(refused) != 1 || refused[0].Rule != FloodRule || refused[0].Line != 1 || refused[0].Text == "" {
		t.Fatalf("File(one of many slow ones) = %+v, want it refused", refused)
	}
	if got := s.File("a.txt", slow, slow); len(got) != 1 || got[0].Rule != FloodRule {
		t.Errorf("File(slow as in the base) = %+v, want it refused", got)
	}
	s.Renew()
	if got := s.File("another.txt", nil, []byte(strings.Repeat(" slack xoxb- glpat-", 100))); got != nil {
		t.Errorf("after Renew File(a bit slow) = %+v, want nothing", got)
	}
	s.budget.work.Store(0)
	for text, want := range map[string][]string{
		"package a\n\n// curl -H is no secret\nfunc A() {}\n":               nil,
		"x := \"" + pat + "\"":                                              {"github-pat"},
		"y := \"" + known + "\"":                                            {KnownRule},
		"z := " + base64.StdEncoding.EncodeToString([]byte("token "+known)): {KnownRule},
	} {
		if got := rulesOf(s.File("a.go", nil, []byte(text))); !slices.Equal(got, want) {
			t.Errorf("afterwards File(%q) = %v, want %v", text, got, want)
		}
	}
}

// One that is slow by itself is refused, whatever the others are like.
func TestSlowFileIsRefused(t *testing.T) {
	t.Parallel()
	s := New(Options{Formats: true})
	slow := []byte(strings.Repeat("looker = aaaaaaaaaaa ", 80_000))
	if got := s.File("a.txt", nil, slow); len(got) != 1 || got[0].Rule != FloodRule {
		t.Errorf("File = %+v, want it refused", got)
	}
	if got := string(s.Mask(slow)); got != blot {
		t.Errorf("Mask shows %d bytes of a text that was not searched", len(got))
	}
	if left := s.budget.work.Load(); left < budgetWork/2 {
		t.Errorf("%d bytes are left for the others", left)
	}
}

// More secrets than are remembered are no way to have the base excuse one more.
func TestManyTokensInTheBase(t *testing.T) {
	t.Parallel()
	s := New(Options{Formats: true})
	var b strings.Builder
	for n := range maxMatches + 10 {
		fmt.Fprintf(&b, "ghp_7dK2mQ9xW4bN1vL8pR5tY3zC6aF0g%04dsE\n", n)
	}
	old := b.String()
	if got := s.File("a.txt", []byte(old), []byte(old+"ghp_"+"9xW4bN1vL8pR5tY3zC6aF0gH2jU4sE7dK2mQ\n")); len(got) == 0 {
		t.Error("a token behind many of the base is not found")
	}
}

func TestManyArchivesAreRefused(t *testing.T) {
	t.Parallel()
	s := New(Options{Known: []secret.String{secret.New("q8W" + "2eR4tY6uI8oP0-aS1dF3")}})
	s.budget.unpacked.Store(maxMember + maxMember/2)
	bomb := gz(make([]byte, maxMember-1<<10))
	if got := s.File("a.gz", nil, bomb); len(got) != 0 {
		t.Errorf("File(first) = %+v, want nothing", got)
	}
	if got := s.File("b.gz", nil, bomb); len(got) != 1 || got[0].Rule != FloodRule {
		t.Errorf("File(second) = %+v, want it refused", got)
	}
	if got := s.File("b.txt", nil, []byte("nothing")); len(got) != 0 {
		t.Errorf("File(text) = %+v, want nothing", got)
	}
}

// What lies behind the limits of an archive is named.
func TestLargeArchiveIsNamed(t *testing.T) {
	t.Parallel()
	s := New(Options{Known: []secret.String{secret.New("q8W" + "2eR4tY6uI8oP0-aS1dF3")}})
	if got := s.File("a.gz", nil, gz(make([]byte, maxMember+1))); len(got) != 1 || got[0].Rule != UnsearchedRule {
		t.Errorf("File = %+v, want it named", got)
	}
	if got := s.File("a.gz", nil, gz(make([]byte, maxMember))); len(got) != 0 {
		t.Errorf("File(as large as is searched) = %+v, want nothing", got)
	}
}
