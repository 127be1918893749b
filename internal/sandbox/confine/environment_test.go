package confine_test

import (
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	from := []string{
		"PATH=/bin", "HOME=/root", "LANG=C", "LC_ALL=C.UTF-8", "TERM=xterm", "TZ=UTC", "CI=true",
		"https_proxy=http://p:1", "NO_PROXY=localhost", "SSL_CERT_FILE=/ca", "NODE_EXTRA_CA_CERTS=/ca",
		"GITHUB_TOKEN=secret", "INPUT_GITHUB-TOKEN=secret", "ACTIONS_RUNTIME_TOKEN=secret", "GITHUB_OUTPUT=/out",
		"LD_PRELOAD=/evil.so", "BASH_ENV=/evil", "CLAUDECODE=1", "MY_VAR=mine", "my-var=hyphen", "PATH=/usr/bin", "broken", "=odd",
	}
	for _, tc := range []struct {
		name  string
		from  []string
		allow []string
		set   map[string]string
		want  []string
	}{
		{"nothing", nil, nil, nil, []string{}},
		{"harmless names only", from, nil, nil, []string{
			"CI=true", "HOME=/root", "LANG=C", "LC_ALL=C.UTF-8", "NODE_EXTRA_CA_CERTS=/ca", "NO_PROXY=localhost",
			"PATH=/usr/bin", "SSL_CERT_FILE=/ca", "TERM=xterm", "TZ=UTC", "https_proxy=http://p:1",
		}},
		{"passed by name", []string{"MY_VAR=mine", "my-var=hyphen", "MY_VAR2=no"}, []string{"MY_VAR", "my-var", "ABSENT"}, nil,
			[]string{"MY_VAR=mine", "my-var=hyphen"}},
		{"set wins", []string{"HOME=/root", "PATH=/bin"}, nil, map[string]string{"HOME": "/tmp/h", "KEY": "a=b"},
			[]string{"HOME=/tmp/h", "KEY=a=b", "PATH=/bin"}},
		{"no nested claude", from, []string{"CLAUDECODE"}, map[string]string{"CLAUDECODE": "1"}, nil},
	} {
		got := confine.Environment(tc.from, tc.allow, tc.set)
		if tc.want == nil {
			if slices.Contains(got, "CLAUDECODE=1") {
				t.Errorf("%s: Environment() = %q, want no CLAUDECODE", tc.name, got)
			}
			continue
		}
		if !slices.Equal(got, tc.want) || got == nil {
			t.Errorf("%s: Environment() = %q, want %q", tc.name, got, tc.want)
		}
	}
}
