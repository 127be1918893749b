package proc

import (
	"errors"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func TestJobRoundTrip(t *testing.T) {
	t.Parallel()
	for _, j := range []job{
		{Argv: []string{}, Env: []string{}},
		{MaxProcs: 7, Path: "/bin/sh", Argv: []string{"sh", "-c", "", "a\nb\xff"}, Env: []string{"A=", "B-C=d"}, Dir: "/x y", Grace: -time.Second, Linger: true, AnyDisk: true, Speaks: true, Judges: true},
	} {
		checkRoundTrip(t, j, job.encode, decodeJob)
	}
	if _, err := (job{Argv: []string{"sh", "a\x00eLD_PRELOAD=x"}}).encode(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("encode() = %v, want %v", err, syscall.EINVAL)
	}
}

func TestSetupRoundTrip(t *testing.T) {
	t.Parallel()
	policy := confine.DefaultPolicy([]string{"/work", "/a b\n\xff\x00"}, []string{"/opt/agent"})
	policy.Strict = true
	policy.Network = &confine.Network{
		Proxies: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:3128"), netip.MustParseAddrPort("[::1]:1")},
		Ports:   []uint16{1, 65535}, Sockets: []string{"/work", ""},
	}
	for _, s := range []setup{
		{},
		{Policy: &confine.Policy{}},
		{Policy: &confine.Policy{Network: &confine.Network{}}},
		{Policy: &policy, Memory: 1 << 40, FreeDisk: 5, FileSize: 1, DiskPaths: []string{"/work", "/tmp"}},
	} {
		checkRoundTrip(t, s, setup.encode, decodeSetup)
	}
}

// checkRoundTrip fails unless decode gives what encode got, and nothing for a part of it:
// a misread policy protects nothing.
func checkRoundTrip[T any](t *testing.T, want T, encode func(T) ([]byte, error), decode func([]byte) (T, error)) {
	t.Helper()
	data, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decode(encode(%+v)) = %+v, %v", want, got, err)
	}
	for n := range data {
		if _, err := decode(data[:n]); err == nil {
			t.Errorf("decode(%d of %d bytes of %+v) = nil, want an error", n, len(data), want)
		}
	}
	if _, err := decode(append(data, 0)); err == nil {
		t.Errorf("decode(a byte more than %+v) = nil, want an error", want)
	}
}

func FuzzParseOver(f *testing.F) {
	f.Add(encodeOver(9, usage{1, 2, 3}))
	f.Fuzz(func(t *testing.T, body []byte) {
		if e, err := parseOver(body); err == nil && e.kind != over {
			t.Errorf("parseOver(%q) = %+v", body, e)
		}
	})
}

// TestChildrenByParent: the way for kernels without CONFIG_PROC_CHILDREN finds
// the same.
func TestChildrenByParent(t *testing.T) {
	t.Parallel()
	attr := syscall.ProcAttr{Env: []string{}, Files: []uintptr{0, 1, 2}}
	pid, err := syscall.ForkExec("/bin/sleep", []string{"a) R 1 (", "600"}, &attr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}()
	if got := childrenByParent(os.Getpid()); !slices.Contains(got, pid) {
		t.Errorf("childrenByParent() = %v, want %d in it", got, pid)
	}
	if got := childrenOf("self"); !slices.Contains(got, pid) {
		t.Errorf("childrenOf(self) = %v, want %d in it", got, pid)
	}
	if got := childrenOf(strconv.Itoa(pid)); len(got) != 0 {
		t.Errorf("childrenOf(%d) = %v, want none", pid, got)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, tt := range []struct {
		name string
		st   unix.Statfs_t
		want bool
	}{
		{"room", unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19, Files: 1 << 20, Ffree: 1 << 19}, false},
		{"few bytes", unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 15, Files: 1 << 20, Ffree: 1 << 19}, true},
		{"few inodes", unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19, Files: 1 << 20, Ffree: 19_999}, true},
		{"enough inodes", unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19, Files: 1 << 20, Ffree: 20_000}, false},
		{"a small file system", unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19, Files: 1000, Ffree: 60}, false},
		{"a small one that is full", unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19, Files: 1000, Ffree: 40}, true},
		{"inodes without a number", unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 19}, false},
		{"no numbers", unix.Statfs_t{}, false},
	} {
		if got := full(tt.st, 200*mb); got != tt.want {
			t.Errorf("%s: full() = %v, want %v", tt.name, got, tt.want)
		}
	}
}
