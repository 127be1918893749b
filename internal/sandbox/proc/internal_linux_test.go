package proc

import (
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/wire"
)

// TestMessages: whatever is in a message arrives, and nothing of a part of one: a
// misread policy protects nothing.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, want := range []any{&job{}, &setup{}, &end{}, &refused{}, &failure{}} {
		checkRoundTrip(t, want)
		fill(reflect.ValueOf(want).Elem())
		checkRoundTrip(t, want)
	}
	policy := confine.DefaultPolicy([]string{"/work", "/a b\n\xff\x00"}, []string{"/opt/agent"})
	policy.Network = &confine.Network{}
	checkRoundTrip(t, &setup{Policy: &policy})
}

// fill sets every field of a struct, and of the structs in it.
func fill(v reflect.Value) {
	if _, ok := v.Interface().(netip.AddrPort); ok {
		v.Set(reflect.ValueOf(netip.MustParseAddrPort("[::1]:3128")))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.String:
		v.SetString("a b\xff")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic(v.Type())
	}
}

func checkRoundTrip(t *testing.T, want any) {
	t.Helper()
	data := wire.Encode(reflect.ValueOf(want).Elem().Interface())
	decode := func(data []byte) (got any, err error) {
		got = reflect.New(reflect.TypeOf(want).Elem()).Interface()
		return got, wire.Decode(data, got)
	}
	if got, err := decode(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Decode(Encode(%+v)) = %+v, %v", want, got, err)
	}
	for n := range data {
		if _, err := decode(data[:n]); err == nil {
			t.Errorf("Decode(%d of %d bytes of %+v) = nil, want an error", n, len(data), want)
		}
	}
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

// TestGone: the end of a parent is known while its orders are still to be read.
func TestGone(t *testing.T) {
	t.Parallel()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	parent, link := os.NewFile(uintptr(fds[0]), "parent"), os.NewFile(uintptr(fds[1]), "link")
	defer link.Close()
	if _, err := parent.WriteString("an order"); err != nil {
		t.Fatal(err)
	}
	if gone(link) {
		t.Error("a parent is gone that is there")
	}
	_ = parent.Close()
	if !gone(link) {
		t.Error("a parent is there that is gone")
	}
}
