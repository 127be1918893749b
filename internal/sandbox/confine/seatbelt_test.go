package confine_test

import (
	"flag"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

var update = flag.Bool("update", false, "write the golden files")

// mac is the links of a Mac: some of its folders are elsewhere, and some of Linux's missing.
func mac(path string) (string, error) {
	for _, missing := range []string{"/proc", "/lib", "/sbin64", "/dev/shm", "/dev/pts", "/dev/full"} {
		if strings.HasPrefix(path, missing) {
			return "", fs.ErrNotExist
		}
	}
	for _, link := range []string{"/tmp", "/var", "/etc"} {
		if path == link || strings.HasPrefix(path, link+"/") {
			return "/private" + path, nil
		}
	}
	return path, nil
}

// command takes the arguments of sandbox-exec apart.
func command(t *testing.T, argv []string) (profile string, parameters map[string]string, rest []string) {
	t.Helper()
	end := slices.Index(argv, "--")
	if end < 3 || argv[0] != confine.SandboxExec || argv[1] != "-p" {
		t.Fatalf("SeatbeltCommand() = %q", argv)
	}
	parameters = map[string]string{}
	for i := 3; i < end; i += 2 {
		name, value, ok := strings.Cut(argv[i+1], "=")
		if argv[i] != "-D" || !ok || parameters[name] != "" {
			t.Fatalf("SeatbeltCommand() = %q: %q", argv, argv[i:i+2])
		}
		parameters[name] = value
	}
	return argv[2], parameters, argv[end+1:]
}

func TestSeatbelt(t *testing.T) {
	t.Parallel()
	work := []string{"/Users/runner/work/r/r", "/tmp/ralph-1/home", "relative", "/proc/gone"}
	for name, network := range map[string]*confine.Network{
		"open": nil,
		"none": {},
		"proxied": {
			Proxies: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:40001"), netip.MustParseAddrPort("127.0.0.1:53")},
			Ports:   []uint16{5432, 40001}, Sockets: []string{"/tmp/ralph-1/home"},
		},
	} {
		policy := confine.DefaultPolicy(work, []string{"/Users/runner/hostedtoolcache"})
		policy.Network = network
		argv := []string{"/bin/sh", "-c", "--", "(allow default)"}
		profile, parameters, rest := command(t, confine.SeatbeltCommand(policy, mac, argv))
		if !slices.Equal(rest, argv) {
			t.Errorf("%s: it starts %q, want %q", name, rest, argv)
		}
		golden := filepath.Join("testdata", "seatbelt_"+name+".sb")
		if *update {
			if err := os.WriteFile(golden, []byte(profile), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || profile != string(want) {
			t.Errorf("%s: %v, the profile is\n%s\nwant\n%s", name, err, profile, want)
		}
		for _, path := range []string{"/Users/runner/work/r/r", "/private/tmp/ralph-1/home", "/private/etc", "/Users/runner/hostedtoolcache", "/dev/null"} {
			if !slices.Contains(values(parameters), path) {
				t.Errorf("%s: no parameter is %s: %q", name, path, parameters)
			}
		}
		for _, path := range values(parameters) {
			if !strings.HasPrefix(path, "/") || path == "/" || strings.HasPrefix(path, "/tmp") || strings.HasPrefix(path, "/proc") {
				t.Errorf("%s: a parameter is %s", name, path)
			}
		}
		sound(t, profile, parameters)
	}
}

func values(m map[string]string) (list []string) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// sound reads a profile as far as its brackets and texts go: closed by default, nothing
// allowed without a filter that would be wide open, each parameter used.
func sound(t *testing.T, profile string, parameters map[string]string) {
	t.Helper()
	depth, quoted := 0, false
	for i, c := range profile {
		switch {
		case c == '\\':
			t.Errorf("a backslash at %d", i)
		case c == '"':
			quoted = !quoted
		case quoted && (c < ' ' || c > '~'):
			t.Errorf("the character %q in a text", c)
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				t.Fatalf("a bracket too many at %d of\n%s", i, profile)
			}
		}
	}
	if depth != 0 || quoted {
		t.Errorf("depth %d, in a text %v at the end of\n%s", depth, quoted, profile)
	}
	if !strings.HasPrefix(profile, "(version 1)\n(deny default)\n") {
		t.Errorf("it is not closed by default:\n%s", profile)
	}
	for line := range strings.Lines(profile) {
		for _, operation := range []string{"file-read*", "file-write*", "network-outbound", "network-inbound", "network-bind", "mach-lookup", "signal", "process-info*", "sysctl-read", "default"} {
			if strings.TrimSpace(line) == "(allow "+operation+")" {
				t.Errorf("everything of %s is open", operation)
			}
		}
	}
	for _, closed := range []string{"procargs", "securityd", "SecurityServer", "launchservices", "appleevents", "pasteboard", "nsurlsession", "/Users", "(target others)"} {
		if strings.Contains(profile, closed) {
			t.Errorf("%s is in\n%s", closed, profile)
		}
	}
	for name := range parameters {
		if !strings.Contains(profile, `(param "`+name+`")`) {
			t.Errorf("the parameter %s is not used", name)
		}
	}
}

// FuzzSeatbelt: no path changes the text of a profile, whatever is in it.
func FuzzSeatbelt(f *testing.F) {
	for _, path := range []string{"/a b", `/a"b`, `/a\b`, `/a\"b`, "/a\nb", `/") (allow default) ("`, "/ünï/✓", "/a=b", "/-D", "/#\"x\"", "/\x01\xff"} {
		f.Add(path)
	}
	same := func(path string) (string, error) { return path, nil }
	f.Fuzz(func(t *testing.T, path string) {
		if !filepath.IsAbs(path) || strings.Contains(path, "\x00") {
			return
		}
		made := func(path string) (string, map[string]string) {
			n := &confine.Network{Sockets: []string{path}}
			profile, parameters, _ := command(t, confine.SeatbeltCommand(confine.Policy{ReadOnly: []string{path}, ReadWrite: []string{path}, Devices: []string{path}, Network: n}, same, []string{"/bin/sh"}))
			return profile, parameters
		}
		profile, parameters := made(path)
		if plain, _ := made("/plain"); profile != plain {
			t.Errorf("the profile for %q is\n%s\nand not\n%s", path, profile, plain)
		}
		for name, value := range parameters {
			if value != path {
				t.Errorf("the parameter %s of %q is %q", name, path, value)
			}
		}
		sound(t, profile, parameters)
	})
}
