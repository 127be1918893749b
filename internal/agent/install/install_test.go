package install_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/install"
)

// What is installed lies in a folder with package and version in its name, and
// its program alone is in the folder for PATH. It is there for the next run.
func TestInstall(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	in := l.mustInstall(tool)
	dir := filepath.Join(l.o.Root, "acme+tool@1.2.3")
	if in.Dir != dir || in.Bin != filepath.Join(dir, "bin") || in.Program != filepath.Join(dir, "bin/tool") || in.Version != "1.2.3" || in.Integrity != "sha512-1.2.3==" || !in.Fresh || in.Files < 5 {
		t.Errorf("Install() = %+v", in)
	}
	if entries, err := os.ReadDir(in.Bin); err != nil || len(entries) != 1 {
		t.Errorf("the folder for PATH holds %v, want the program alone", entries)
	}
	if got := l.entries(); got != ".lock acme+tool@1.2.3" {
		t.Errorf("the root holds %s", got)
	}
	if log := l.log.String(); !strings.Contains(log, "npm notice fetching @acme/tool@1.2.3") || !strings.Contains(log, "1.2.3 (Tool)") {
		t.Errorf("log = %q, want all that was printed", log)
	}
	if of, ok := install.Of(in.Program); !ok || of != dir {
		t.Errorf("Of(%s) = %q, %v, want %q", in.Program, of, ok, dir)
	}
	if of, ok := install.Of("/bin/sh"); ok {
		t.Errorf("Of(/bin/sh) = %q, want none", of)
	}
	again := l.mustInstall(tool)
	if again.Fresh || again.Dir != in.Dir || l.calls("npm view")+l.calls("npm install") != 2 {
		t.Errorf("Install() again = %+v, want the same without npm:\n%s", again, l.read("log/calls"))
	}
	found, ok, err := install.Find(l.o.Root, tool)
	if err != nil || !ok || found != again {
		t.Errorf("Find() = %+v, %v, %v", found, ok, err)
	}
}

// npm runs in a folder of its own, with a HOME of its own, and no configuration
// but the registry and the way to it.
func TestNpmSeesItsOwnFolderOnly(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	wanted := []string{"HTTPS_PROXY=http://proxy:1", "NODE_EXTRA_CA_CERTS=/etc/ca.pem", "SSL_CERT_FILE=/etc/ca.pem",
		"npm_config_registry=https://npm.example", "NPM_CONFIG_STRICT_SSL=true"}
	unwanted := []string{"npm_config_prefix=/", "npm_config_global=true", "NPM_CONFIG_USERCONFIG=/root/.npmrc", "npm_config_ignore_scripts=true",
		"NODE_OPTIONS=--require=/x", "XDG_CONFIG_HOME=/x", "HOME=/root", "TMPDIR=/x"}
	l.o.Env = append(append(l.o.Env, wanted...), unwanted...)
	l.write("install", "touch "+filepath.Join(l.dir, "workspace/planted")+" "+l.o.Root+"/planted 2>/dev/null; id -u >$FAKE/log/uid\n")
	l.mustInstall(tool)
	env := strings.Split(l.read("log/env"), "\n")
	for _, kv := range wanted {
		if !slices.Contains(env, kv) {
			t.Errorf("npm does not see %s", kv)
		}
	}
	for _, kv := range unwanted {
		if slices.Contains(env, kv) {
			t.Errorf("npm sees %s", kv)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(l.read("log/calls")), "\n") {
		if !strings.HasPrefix(line, l.o.Root+"/.stage-") {
			t.Errorf("npm ran elsewhere: %s", line)
		}
	}
	for _, path := range []string{"workspace/planted", "agents/planted"} {
		if _, err := os.Lstat(filepath.Join(l.dir, path)); err == nil {
			t.Errorf("npm could write %s", path)
		}
	}
	if uid := strings.TrimSpace(l.read("log/uid")); os.Geteuid() == 0 && uid != "1001" {
		t.Errorf("npm ran as uid %s, want that of its user", uid)
	}
}

// A CLI whose install script was refused is made whole by hand.
func TestRefusedScript(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const noBinary = `printf '#!/bin/sh\nexit 1\n' >node_modules/$name/$bin
printf 'printf "#!/bin/sh\\necho 1.2.3\\n" >bin/tool.exe\n' >node_modules/$name/install.cjs
`
	l.write("after", noBinary)
	l.mustInstall(tool)
	l.heard("its install script (install.cjs) is run by hand")

	l = newLab(t)
	l.write("after", noBinary+"echo 'echo no binary for this machine >&2; exit 3' >node_modules/$name/install.cjs\n")
	_, err := l.install(tool)
	wantError(t, err, "tool --version of @acme/tool@1.2.3 failed (exit code 1)", "its install script install.cjs", "no binary for this machine")
	if got := l.entries(); got != ".lock" {
		t.Errorf("the root holds %s, want nothing", got)
	}
}

// As root, a tree is root's and nobody else's, be it new or out of a cache.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	l := newLab(t)
	l.write("after", "chmod -R 777 .; chmod 4755 node_modules/$name/$bin; ln -s /etc/passwd link\n")
	in := l.mustInstall(tool)
	check := func() {
		t.Helper()
		for _, top := range []string{l.o.Root, in.Dir} {
			_ = filepath.WalkDir(top, func(path string, _ fs.DirEntry, _ error) error {
				info, err := os.Lstat(path)
				if err != nil {
					t.Fatal(err)
				}
				st := info.Sys().(*syscall.Stat_t)
				if st.Uid != 0 || st.Gid != 0 || info.Mode()&fs.ModeSymlink == 0 && info.Mode()&(0o022|fs.ModeSetuid|fs.ModeSetgid) != 0 {
					t.Errorf("%s is %v of %d:%d", path, info.Mode(), st.Uid, st.Gid)
				}
				return nil
			})
		}
	}
	check()
	// A cache was restored by the runner's user: what it says is not believed, and what
	// it kept is compared again.
	for _, path := range []string{l.o.Root, in.Dir, filepath.Join(in.Dir, "bin"), filepath.Join(in.Dir, "node_modules/@acme/tool/bin/tool.exe")} {
		if err := os.Chown(path, 1001, 1001); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	l.log.Reset()
	if again := l.mustInstall(tool); !again.Fresh || !strings.Contains(l.log.String(), "from the cache") {
		t.Errorf("Install() = %+v, want a new one from the tarballs that were kept:\n%s", again, l.log.String())
	}
	l.heard("is not used, but unpacked and checked anew: " + in.Dir + " belongs to the user 1001, who could have changed it")
	check()
	if info, err := os.Stat("/etc/passwd"); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("/etc/passwd: %v, %v: a link was followed", info.Mode(), err)
	}
}

// Of an installation of which the tarballs alone are left, as a cache may keep them,
// nothing is fetched that is in them. A link in their place opens nothing.
func TestTarballs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("install", "ls -R $npm_config_cache >$FAKE/log/cache\n")
	in := l.mustInstall(tool)
	victim := filepath.Join(l.dir, "victim")
	if err := os.MkdirAll(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(victim, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, want string
		link       bool
	}{
		{"tarballs", "x", false},
		{"a link out of all installations", "", true},
	} {
		entries, err := os.ReadDir(in.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() == "npm-cache" && !test.link {
				continue
			}
			if err := os.RemoveAll(filepath.Join(in.Dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		if test.link {
			if err := os.Symlink(victim, filepath.Join(in.Dir, "npm-cache")); err != nil {
				t.Fatal(err)
			}
		}
		if again := l.mustInstall(tool); !again.Fresh {
			t.Errorf("%s: Install() = %+v, want a new one", test.name, again)
		}
		l.heard("is not used, but unpacked and checked anew: it is not whole")
		words := strings.Fields(l.read("log/cache"))
		if got := slices.Contains(words, "x"); got != (test.want == "x") || slices.Contains(words, "precious") {
			t.Errorf("%s: npm's cache holds %q", test.name, words)
		}
	}
}

// Without root, what others could write is taken from them.
func TestLoose(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		again := exec.Command("/proc/self/exe", "-test.run", "^TestLoose$", "-test.v")
		again.Dir, again.Env = "/", []string{"PATH=/usr/bin:/bin", "TMPDIR=/tmp"}
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1002, Gid: 1002}}
		if out, err := again.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestLoose")) {
			t.Errorf("as another user than root: %v\n%s", err, out)
		}
		return
	}
	l := newLab(t)
	in := l.mustInstall(tool)
	if err := os.Chmod(filepath.Join(in.Dir, "package-lock.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	l.mustInstall(tool)
	if info, err := os.Stat(filepath.Join(in.Dir, "package-lock.json")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the file is %v, %v, want it unwritable for others", info.Mode(), err)
	}
}

// What is broken or partial is installed anew, and what a killed run left goes.
func TestBroken(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(dir string) error{
		"no stamp":       func(dir string) error { return os.Remove(filepath.Join(dir, "ralph-install.json")) },
		"stamp cut":      func(dir string) error { return os.Truncate(filepath.Join(dir, "ralph-install.json"), 20) },
		"other platform": func(dir string) error { return replace(filepath.Join(dir, "ralph-install.json"), "linux/", "plan9/") },
		"a file is gone": func(dir string) error { return os.Remove(filepath.Join(dir, "node_modules/dep/package.json")) },
		"a file is another": func(dir string) error {
			return replace(filepath.Join(dir, "node_modules/@acme/tool/bin/tool.exe"), "Tool", "Toll")
		},
		"a file may not run": func(dir string) error {
			return os.Chmod(filepath.Join(dir, "node_modules/@acme/tool/package.json"), 0o755)
		},
		"a file more": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "node_modules/dep/index.js"), nil, 0o644)
		},
		"a file is cut":       func(dir string) error { return os.Truncate(filepath.Join(dir, "package-lock.json"), 3) },
		"the program is gone": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "node_modules/@acme/tool/bin")) },
		"it leads out": func(dir string) error {
			_ = os.Remove(filepath.Join(dir, "bin/tool"))
			return os.Symlink("/bin/true", filepath.Join(dir, "bin/tool"))
		},
		"a file in its place": func(dir string) error { _ = os.RemoveAll(dir); return os.WriteFile(dir, nil, 0o644) },
		"a link in its place": func(dir string) error { _ = os.Rename(dir, dir+"x"); return os.Symlink(dir+"x", dir) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			in := l.mustInstall(tool)
			if err := breakIt(in.Dir); err != nil {
				t.Fatal(err)
			}
			readable := name == "a file is another" || name == "a file may not run" || name == "a file more" // only who reads them all sees it
			if found, ok, err := install.Find(l.o.Root, tool); ok != readable || err != nil {
				t.Errorf("Find() = %+v, %v, %v, want none", found, ok, err)
			}
			if err := os.MkdirAll(filepath.Join(l.o.Root, ".stage-dead/work/tree"), 0o755); err != nil {
				t.Fatal(err)
			}
			if again := l.mustInstall(tool); !again.Fresh {
				t.Errorf("Install() = %+v, want a new one", again)
			}
			if strings.Contains(l.entries(), "stage") {
				t.Errorf("the root holds %s, want no leftovers", l.entries())
			}
		})
	}
}

func replace(path, from, to string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.ReplaceAll(string(data), from, to)), 0o644)
}

// Several at a time all get the whole installation that one of them makes.
func TestSeveralAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.o.Log = nil
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			in, err := install.Install(t.Context(), l.o, tool)
			if _, e := os.Stat(in.Program); err != nil || e != nil {
				t.Errorf("Install() = %+v, %v, %v", in, err, e)
			}
		})
	}
	all.Wait()
	if l.calls("npm install") != 1 {
		t.Errorf("npm was called:\n%s", l.read("log/calls"))
	}
	if got := l.entries(); got != ".lock acme+tool@1.2.3" {
		t.Errorf("the root holds %s", got)
	}
}

// latest is looked up; when the registry cannot be asked, the newest that is
// installed is used, and that is said.
func TestLatest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	latest := tool
	latest.Version = "latest"
	if in := l.mustInstall(latest); in.Version != "1.2.3" || !in.Fresh {
		t.Errorf("Install(latest) = %+v, want 1.2.3", in)
	}
	l.heard("latest of @acme/tool is 1.2.3.")
	if in := l.mustInstall(latest); in.Fresh || l.calls("npm install") != 1 {
		t.Errorf("Install(latest) again = %+v, want what is there", in)
	}
	for _, version := range []string{"1.10.0", "2.0.0-beta.1"} {
		p := tool
		p.Version = version
		l.mustInstall(p)
	}
	l.write("view", "fail ENOTFOUND\n")
	if in := l.mustInstall(latest); in.Version != "2.0.0-beta.1" {
		t.Errorf("Install(latest) offline = %+v, want the newest", in)
	}
	l.heard("the newest that is installed, 2.0.0-beta.1, is used")
	l.heard("ENOTFOUND")
	if in, ok, err := install.Find(l.o.Root, latest); err != nil || !ok || in.Version != "2.0.0-beta.1" {
		t.Errorf("Find(latest) = %+v, %v, %v", in, ok, err)
	}
	other := install.Package{Name: "@acme/other", Program: "tool", Version: "latest"}
	_, err := l.install(other)
	wantError(t, err, "npm view of @acme/other@latest failed (ENOTFOUND)")
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("install", "sleep 60\n")
	l.o.Time = 2 * time.Second
	_, err := l.install(tool)
	wantError(t, err, "install @acme/tool@1.2.3: not done within 2s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := install.Install(ctx, l.o, tool); err != context.Canceled { //nolint:errorlint // the cause itself
		t.Errorf("Install(cancelled) = %v", err)
	}
	if got := l.entries(); got != ".lock" {
		t.Errorf("the root holds %s, want nothing", got)
	}
}
