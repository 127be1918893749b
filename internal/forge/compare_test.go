package forge_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
)

func TestCompareURL(t *testing.T) {
	t.Parallel()
	client, err := forge.New(forge.Options{APIURL: "https://api.github.com", ServerURL: "https://github.com", Repository: "octo/greet", Token: secret.New(token)})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		pr   forge.PullRequest
		want string
	}{
		{"plain", forge.PullRequest{Title: "Fix it", Head: "ralph/x", Base: "main"}, "https://github.com/octo/greet/compare/main...ralph/x?quick_pull=1&title=Fix+it"},
		{
			"all", forge.PullRequest{Title: "a&b=c", Body: "# x\n](y)", Head: "ralph/ü#?%", Base: "release/1", Labels: []string{"a", "b c"}},
			"https://github.com/octo/greet/compare/release/1...ralph/%C3%BC%23%3F%25?body=%3C%21--+ralph-action+--%3E%0A%23+x%0A%5D%28y%29&labels=a%2Cb+c&quick_pull=1&title=a%26b%3Dc",
		},
		{"fork", forge.PullRequest{Title: "t", Head: "ralph/x", HeadRepository: "me/greet", Base: "main"}, "https://github.com/octo/greet/compare/main...me:ralph/x?quick_pull=1&title=t"},
		{"fork of another name", forge.PullRequest{Title: "t", Head: "x", HeadRepository: "octo/greet-2", Base: "main"}, "https://github.com/octo/greet/compare/main...octo:greet-2:x?quick_pull=1&title=t"},
	} {
		if got := client.CompareURL(test.pr); got != test.want {
			t.Errorf("%s: CompareURL() = %s, want %s", test.name, got, test.want)
		}
	}

	long := client.CompareURL(forge.PullRequest{Title: "t", Body: strings.Repeat("ä ", 40000), Head: "ralph/x", Base: "main"})
	u, err := url.Parse(long)
	if err != nil || len(long) > 4000 || len(long) < 1000 || strings.Trim(u.Query().Get("body"), "ä ") != forge.Marker+"\n" {
		t.Errorf("CompareURL(long body) = %d bytes %.200s, %v, want a part of the body within 4000 bytes", len(long), long, err)
	}
}
