package confine_test

import (
	"net/netip"
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
	if got, want := confine.Describe(confine.Identity{}, nil, 1000), "no file restrictions, uid 1000 (our own)"; got != want {
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
