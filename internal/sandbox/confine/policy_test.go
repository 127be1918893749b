package confine_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func TestDefaultPolicyKeepsTheRunnersFilesOut(t *testing.T) {
	t.Parallel()
	w := confine.DefaultPolicy([]string{"/github/workspace", "/home/agent", "/tmp/ralph"}, []string{"/opt/claude"})
	for _, path := range []string{"/github", "/github/runner_temp", "/github/file_commands", "/github/workflow", "/github/home", "/var/run", "/tmp", "/", "/dev", "/root", "/home"} {
		if slices.Contains(w.ReadOnly, path) || slices.Contains(w.ReadWrite, path) || slices.Contains(w.Devices, path) {
			t.Errorf("DefaultPolicy() opens %s", path)
		}
	}
	for _, path := range []string{"/usr", "/etc", "/proc", "/opt/claude"} {
		if !slices.Contains(w.ReadOnly, path) {
			t.Errorf("DefaultPolicy() does not let %s be read", path)
		}
	}
	if !slices.Contains(w.ReadWrite, "/github/workspace") || slices.Contains(w.ReadWrite, "/usr") {
		t.Errorf("DefaultPolicy() lets %q be written", w.ReadWrite)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	id := confine.Identity{UID: 1001, GID: 1001}
	if got, want := confine.Describe(id, nil, 0), "no file restrictions, uid 1001"; got != want {
		t.Errorf("Describe(no policy) = %q, want %q", got, want)
	}
	if got, want := confine.Describe(confine.Identity{}, nil, 1000), "no file restrictions, uid 1000 (ralph's own)"; got != want {
		t.Errorf("Describe(own user) = %q, want %q", got, want)
	}
	if got := confine.Describe(id, &confine.Policy{}, 0); len(got) < len("no file restrictions, uid 1001") {
		t.Errorf("Describe(a policy) = %q, want what is in force", got)
	}
	open, closed := &confine.Policy{}, &confine.Policy{Network: &confine.Network{}}
	proxied := &confine.Policy{Network: &confine.Network{Proxies: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}}}
	wantClosed, wantProxied := ", no network", ", network through the proxy only"
	if ok, reason := confine.NetworkAvailable(); !ok {
		wantClosed = ", network open (" + reason + ")"
		wantProxied = wantClosed
	}
	for _, tc := range []struct {
		policy *confine.Policy
		want   string
	}{{open, ""}, {closed, wantClosed}, {proxied, wantProxied}} {
		if got, want := confine.Describe(id, tc.policy, 0), confine.Describe(id, open, 0)+tc.want; got != want {
			t.Errorf("Describe(%+v) = %q, want %q", tc.policy, got, want)
		}
	}
}

// A child that speaks is protected where files are restricted and a notifier
// decides about the network, too; else what is missing is named.
func TestUnprotected(t *testing.T) {
	t.Parallel()
	abi, noFiles := confine.Available()
	_, noNetwork := confine.NetworkAvailable()
	missing := func(network string) string {
		if abi == 0 {
			return noFiles
		}
		return network
	}
	for _, tc := range []struct {
		name   string
		policy *confine.Policy
		want   string
	}{
		{"no policy", nil, "isolation is off"},
		{"open network", &confine.Policy{}, missing("the network is open")},
		{"all of them", &confine.Policy{Network: &confine.Network{}}, missing(noNetwork)},
	} {
		if got := confine.Unprotected(tc.policy); got != tc.want {
			t.Errorf("Unprotected(%s) = %q, want %q", tc.name, got, tc.want)
		}
	}
}

// What is hidden below a folder that may be read cannot be read, by a link either, and all
// else there can.
func TestPolicyHide(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{"opt/runner/_work/_temp/ralph-x", "opt/runner/bin", "opt/tool", "usr"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"opt/current": "opt/runner", "opt/inside": "opt/runner/_work/_temp/ralph-x", "opt/mine": "usr", "temp": "opt/runner/_work/_temp"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	p := confine.Policy{ReadOnly: []string{at("usr"), at("opt"), at("gone"), at("opt/current")}, ReadWrite: []string{at("opt/runner/_work")}}
	p.Hide(at("temp"))
	want := []string{at("usr"), at("opt/mine"), at("opt/runner/bin"), at("opt/tool"), at("gone"), at("opt/runner/bin")}
	if !slices.Equal(p.ReadOnly, want) {
		t.Errorf("may be read:\n%q, want\n%q", p.ReadOnly, want)
	}
	p.Hide(at("missing"))
	if !slices.Equal(p.ReadOnly, want) {
		t.Errorf("what is not there hides something: %q", p.ReadOnly)
	}
}
