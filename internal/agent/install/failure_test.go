package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/install"
)

// What passes is tried again, three times in all, each time from an empty folder.
func TestWhatMayPassIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"ECONNRESET", "EAI_AGAIN", "E503", "EINTEGRITY", "ERR_SOCKET_TIMEOUT"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.write("view1", "fail "+code+"\n")
			l.write("install1", "echo half >half; fail "+code+"\n")
			l.write("install2", "[ -e half ] && exit 9; fail "+code+"\n")
			l.mustInstall(tool)
			l.heard("(attempt 2 of 3); trying again in ")
			if l.calls("npm view") != 2 || l.calls("npm install") != 3 {
				t.Errorf("npm was called:\n%s", l.read("log/calls"))
			}
			l = newLab(t)
			l.write("install", "fail "+code+"\n")
			_, err := l.install(tool)
			wantError(t, err, "npm install of @acme/tool@1.2.3 failed ("+code+")", "\n  npm error it went wrong: "+code)
			if l.calls("npm install") != 3 {
				t.Errorf("npm was called:\n%s", l.read("log/calls"))
			}
		})
	}
}

// Every reason says what would be right, and is not tried again.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		file string // of the fake npm
		code string
		want []string
	}{
		{"version unknown", "view", "fail E404", []string{"(E404)", "the registry knows no @acme/tool@1.2.3; is its version right? `npm view @acme/tool versions` lists them"}},
		{"version gone meanwhile", "install", "fail ETARGET", []string{"(ETARGET)", "is its version right?"}},
		{"credentials", "view", "fail E401", []string{"the registry refuses us", "_authToken"}},
		{"certificate", "view", "fail SELF_SIGNED_CERT_IN_CHAIN", []string{"NODE_EXTRA_CA_CERTS"}},
		{"disk full", "install", "fail ENOSPC", []string{"the disk is full"}},
		{"disk full, and npm goes on", "install", "echo 'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write' >&2", []string{"(ENOSPC)", "the disk is full"}},
		{"not whole, and npm goes on", "install", "echo 'npm warn tar TAR_ENTRY_ERROR EIO: i/o error' >&2", []string{"could not be unpacked whole", "EIO"}},
		{"read-only", "install", "fail EROFS", []string{"the folder cannot be written"}},
		{"old npm", "view", "echo 'npm ERR! code E404' >&2; exit 1", []string{"(E404)"}},
		{"no reason", "install", "printf 'boo\\033[31mm' >&2; exit 7", []string{"npm install of @acme/tool@1.2.3 failed (exit code 7)\n", "  boo[31mm"}},
		{"no answer", "view", "echo '{}'; exit 0", []string{"gave no version"}},
		{"a version that is a path", "view", "version=../../x", []string{"gave no version"}},
		{"no checksum", "after", "sed -i 's/,\"integrity\":\"sha512-1.2.3==\"//' package-lock.json", []string{"no sha512 checksum for \"node_modules/@acme/tool\""}},
		{"weak checksum", "after", "sed -i 's/sha512-dep/sha1-dep/' package-lock.json", []string{"no sha512 checksum for \"node_modules/dep\""}},
		{"other checksum", "after", "sed -i 's/sha512-1.2.3/sha512-4.5.6/' package-lock.json", []string{"the registry names the checksum sha512-1.2.3==", "sha512-4.5.6=="}},
		{"other version", "after", "sed -i 's/\"version\":\"1.2.3\"/\"version\":\"6.6.6\"/' package-lock.json", []string{"npm installed \"6.6.6\" instead"}},
		{"no lock", "after", "rm package-lock.json", []string{"no package-lock.json"}},
		{"no such program", "after", "echo '{\"bin\":{\"other\":\"x.js\"}}' >node_modules/$name/package.json", []string{`has no program "tool"; its programs: "other"`}},
		{"program outside", "after", "echo '{\"bin\":{\"tool\":\"../../../../x\"}}' >node_modules/$name/package.json", []string{"names a file outside of itself"}},
		{"program does not start", "after", "printf '#!/bin/sh\\necho broken >&2; exit 5' >node_modules/$name/$bin", []string{"tool --version of @acme/tool@1.2.3 failed (exit code 5)", "broken"}},
		{"a pipe in the tree", "after", "mkfifo pipe", []string{""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.name == "a pipe in the tree" && os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			l := newLab(t)
			l.write(test.file, test.code+"\n")
			_, err := l.install(tool)
			if err == nil {
				t.Fatal("Install() = nil, want an error")
			}
			wantError(t, err, test.want...)
			if l.calls("npm view") > 1 || l.calls("npm install") > 1 {
				t.Errorf("it was tried again:\n%s", l.read("log/calls"))
			}
			if got := l.entries(); got != ".lock" {
				t.Errorf("the root holds %s, want nothing", got)
			}
			if f := (*install.Failure)(nil); strings.HasPrefix(test.code, "fail ") && (!errors.As(err, &f) || f.Code != strings.Fields(test.code)[1]) {
				t.Errorf("error = %#v, want a Failure with its code", err)
			}
		})
	}
}

func TestNodeAndNpm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, node, view string
		want, say        string
	}{
		{"node too old for a script", "v18.20.1", "bin=bin/tool.js", `@acme/tool@1.2.3 needs node ">=20", and the node on PATH is 18.20.1`, ""},
		{"node too old for a binary", "v18.20.1", "", "", `@acme/tool@1.2.3 asks for node ">=20", and the node on PATH is 18.20.1. It is tried all the same.`},
		{"node new enough", "v20.0.0", "bin=bin/tool.js", "", ""},
		{"a list of old", "v1.0.0", "engines='[\"node >= 0.8\"]'", "", ""},
		{"a range nobody reads", "v1.0.0", "engines='{\"node\":\"lts/*\"}'", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.write("node-version", test.node+"\n")
			l.write("view", test.view+"\n")
			l.write("install", test.view+"\n")
			switch _, err := l.install(tool); {
			case test.want != "":
				wantError(t, err, test.want, "setup-node")
				if l.calls("npm install") != 0 {
					t.Error("it was fetched before")
				}
			case err != nil:
				t.Fatal(err)
			}
			l.heard(test.say)
		})
	}
	for _, gone := range []string{"npm", "node"} {
		l := newLab(t)
		if err := os.Remove(filepath.Join(l.fake, "bin", gone)); err != nil {
			t.Fatal(err)
		}
		l.o.Env[0] = "PATH=" + filepath.Join(l.fake, "bin")
		_, err := l.install(tool)
		wantError(t, err, gone+" is needed to install @acme/tool, and "+gone+" is not on PATH: install Node.js", "the default image has both")
	}
}

// The folder of all installations is for them alone.
func TestRoot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.o.Root = "agents"
	_, err := l.install(tool)
	wantError(t, err, "has to be an absolute path")
	l.o.Root = l.dir
	_, err = l.install(tool)
	wantError(t, err, `it holds "fake", which is no installed agent`)
	l.o.Root = filepath.Join(l.fake, "node-version", "x")
	_, err = l.install(tool)
	wantError(t, err, "agents cannot be installed into", "not a directory")
	if os.Geteuid() == 0 {
		closed := filepath.Join(l.dir, "closed")
		if err := os.Mkdir(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		l.o.Root = filepath.Join(closed, "agents")
		_, err = l.install(tool)
		wantError(t, err, "the agent's user (uid 1001) may not enter "+closed+" (drwx------)")
	}
	if _, err := os.Stat("/proc/self/nope"); err != nil && os.IsNotExist(err) {
		l.o.Root = "/proc/self/nope"
		_, err = l.install(tool)
		wantError(t, err, "agents cannot be installed into /proc/self/nope")
	}
	if found, ok, err := install.Find(filepath.Join(l.dir, "missing"), install.Package{Name: "x", Program: "x", Version: "latest"}); ok || err != nil {
		t.Errorf("Find(missing) = %v, %v, %v", found, ok, err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, p := range []install.Package{
		{}, {"../x", "x", "1.0.0"}, {"@a/../b", "x", "1.0.0"}, {"-x/y", "x", "1.0.0"}, {"X", "x", "1.0.0"}, {"a b", "x", "1.0.0"}, {".x", "x", "1.0.0"},
		{"x", "../x", "1.0.0"}, {"x", "", "1.0.0"}, {"x", "-x", "1.0.0"},
		{"x", "x", ""}, {"x", "x", "^1.0.0"}, {"x", "x", "1"}, {"x", "x", "1.0.0/../.."}, {"x", "x", "-g"}, {"x", "x", "../y"}, {"x", "x", "git+ssh://h/x"},
	} {
		if _, err := l.install(p); err == nil || l.read("log/calls") != "" {
			t.Errorf("Install(%+v) = %v, want an error before npm runs", p, err)
		}
	}
}

// The names of a registry's variables, whatever their case.
func TestVariables(t *testing.T) {
	t.Parallel()
	got := install.Variables([]string{"npm_config_registry=x", "NPM_CONFIG_HTTPS_PROXY=x", "npm_config_//npm.example/:_authToken=s", "npm_config_@acme:registry=x",
		"npm_config_prefix=x", "NPM_TOKEN=s", "npm_config_=x", "npm_config_userconfig=x", "HOME=x", "junk"})
	if want := "npm_config_registry NPM_CONFIG_HTTPS_PROXY npm_config_//npm.example/:_authToken npm_config_@acme:registry"; strings.Join(got, " ") != want {
		t.Errorf("Variables() = %q, want %q", got, want)
	}
	paths := install.Reads([]string{"PATH=/usr/bin:/bin", "NODE_EXTRA_CA_CERTS=/etc/passwd", "SSL_CERT_FILE=/missing"})
	if !strings.Contains(strings.Join(paths, " "), "/etc/passwd") || strings.Contains(strings.Join(paths, " "), "/missing") {
		t.Errorf("Reads() = %q", paths)
	}
}
