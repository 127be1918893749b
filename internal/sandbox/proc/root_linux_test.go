package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func init() {
	programs["becomes-another"] = func([]string) int {
		cmd := exec.Command("id", "-u")
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: "/", Credential: &syscall.Credential{Uid: 4711, Gid: 4711}}
		out, err := cmd.Output()
		if err != nil || string(out) != "4711\n" {
			fmt.Printf("%q, %v\n", out, err)
			return 1
		}
		return 0
	}
}

// TestRootKeeps: a child that is root keeps the capabilities that builds and package
// managers need, and no others.
func TestRootKeeps(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: else no child is")
	}
	other := outsider(t, confine.Identity{}, "TOKEN=hunter2")
	attempts := []struct{ name, script, want string }{
		{"environment of another process", "grep -q hunter2 /proc/$OTHER/environ", "no"},
		{"memory of another process", "head -c 1 /proc/$OTHER/maps | grep -q .", "no"},
		{"device", "mknod $WORK/disk b 7 0", "no"},
		{"owner", "echo x > $WORK/f && chown 4711:4711 $WORK/f && chmod 600 $WORK/f && [ $(stat -c %u $WORK/f) = 4711 ]", "yes"},
		{"write to the file of another", "echo y >> $WORK/f && cp -p $WORK/f $WORK/g && [ $(stat -c %u $WORK/g) = 4711 ]", "yes"},
		{"archive with owners", "tar cf $WORK/f.tar -C $WORK f && mkdir $WORK/out && tar xpf $WORK/f.tar -C $WORK/out && [ $(stat -c %u $WORK/out/f) = 4711 ]", "yes"},
		{"become another", binary + " program becomes-another", "yes"},
	}
	var script strings.Builder
	for _, a := range attempts {
		fmt.Fprintf(&script, "if ( %s ) >&2; then echo '%s: yes'; else echo '%s: no'; fi\n", a.script, a.name, a.name)
	}
	script.WriteString("grep ^Cap /proc/self/status\n")
	r := newSandbox(t)
	r.options.Identity = confine.Identity{}
	r.network(confine.Network{})
	c := shell(script.String())
	c.Env = append(c.Env, "WORK="+r.work, fmt.Sprintf("OTHER=%d", other), quickExit)
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if exit, err := start(t, r.options).Run(t.Context(), c); err != nil || exit.Code != 0 {
		t.Fatalf("Run() = %+v, %v; it said %s", exit, err, out.String()+errs.String())
	}
	for _, a := range attempts {
		if !strings.Contains(out.String(), a.name+": "+a.want+"\n") {
			t.Errorf("%s: want %q in\n%s%s", a.name, a.want, out.String(), errs.String())
		}
	}
	const docker = 0xa80425fb // the capabilities that it gives by default
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		_, rest, _ := strings.Cut(out.String(), set+":")
		text, _, _ := strings.Cut(rest, "\n")
		has, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
		if more := has &^ (docker &^ (1 << unix.CAP_MKNOD)); err != nil || more != 0 {
			t.Errorf("%s = %q, %v: %x too many", set, text, err, more)
		}
	}
}
