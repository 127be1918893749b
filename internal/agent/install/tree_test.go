package install_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A script of a package can put a link in the place of any folder it can write.
// None is followed: what lies elsewhere stays as it is.
func TestExchanged(t *testing.T) {
	t.Parallel()
	const program = `cat >node_modules/$name/$bin <<X
#!/bin/sh
echo 1.2.3
%
X
`
	for _, test := range []struct{ name, after, want string }{
		{"the tree, by a link", `tree=$PWD; cd ..; rm -rf "$tree"; ln -s VICTIM "$tree"`, "its folder was exchanged for something else"},
		{"the tree, by a folder", `tree=$PWD; cd ..; mv "$tree" other; cp -r other "$tree"`, "its folder was exchanged for something else"},
		{"the tree, by nothing", `tree=$PWD; cd ..; rm -rf "$tree"`, "its folder was exchanged for something else"},
		{"the tree, when the program starts", strings.Replace(program, "%", `cd ..; mv tree other; ln -s VICTIM tree`, 1), "its folder was exchanged for something else"},
		{"node_modules", `mv node_modules ../m; ln -s VICTIM/node_modules node_modules`, "without a readable package.json"},
		{"package.json", `rm node_modules/$name/package.json; ln -s VICTIM/node_modules/@acme/tool/package.json node_modules/$name/package.json`, "without a readable package.json"},
		{"package.json, by a pipe", `rm node_modules/$name/package.json; mkfifo node_modules/$name/package.json`, "without a readable package.json"},
		{"the lock file", `rm package-lock.json; ln -s VICTIM/package-lock.json package-lock.json`, "@acme/tool@1.2.3: "},
		{"the folder for PATH", `ln -s VICTIM/bin bin`, ""},
		{"the folder for PATH, when the program starts", strings.Replace(program, "%", `mv bin b; ln -s VICTIM/bin bin`, 1), ""},
		{"the stamp", `ln -s VICTIM/precious ralph-install.json`, ""},
		{"a folder and a file", `ln -s VICTIM/bin node_modules/dep/bin; ln -s VICTIM/precious node_modules/dep/precious`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			victim := filepath.Join(l.dir, "victim")
			for name, text := range map[string]string{
				"precious": "precious\n", "bin/tool": "#!/bin/sh\n", "bin/precious": "precious\n",
				"package-lock.json":                     `{"packages":{"node_modules/@acme/tool":{"version":"1.2.3","integrity":"sha512-1.2.3=="}}}`,
				"node_modules/@acme/tool/package.json":  `{"bin":{"tool":"bin/tool.exe"}}`,
				"node_modules/@acme/tool/bin/tool.exe":  "#!/bin/sh\necho 1.2.3\n",
				"node_modules/@acme/tool/bin/other.exe": "#!/bin/sh\n",
			} {
				path := filepath.Join(victim, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			if id := npmUser(); !id.IsZero() {
				err := filepath.WalkDir(victim, func(path string, _ fs.DirEntry, _ error) error { return os.Chown(path, 1002, 1002) })
				if err != nil {
					t.Fatal(err)
				}
			}
			before := listing(t, victim)
			l.write("after", strings.ReplaceAll(test.after, "VICTIM", victim)+"\n")
			in, err := l.install(tool)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("Install() = %v\n%s", err, l.log.String())
			case test.want == "":
				if entries, err := os.ReadDir(in.Bin); err != nil || len(entries) != 1 {
					t.Errorf("the folder for PATH holds %v, %v, want the program alone", entries, err)
				}
			case err == nil:
				t.Error("Install() = nil, want an error")
			default:
				wantError(t, err, test.want)
				if got := l.entries(); got != ".lock" {
					t.Errorf("the root holds %s, want nothing", got)
				}
			}
			if after := listing(t, victim); after != before {
				t.Errorf("elsewhere there was\n%sand now there is\n%s", before, after)
			}
		})
	}
}

// What the program puts beside itself on its first start does not come onto PATH.
func TestProgramAloneOnPath(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("after", `printf '#!/bin/sh\nmv bin b; mkdir bin; cp b/tool "$0" bin; echo evil >bin/git; chmod 755 bin/git; echo 1.2.3\n' >node_modules/$name/$bin`+"\n")
	in := l.mustInstall(tool)
	if entries, err := os.ReadDir(in.Bin); err != nil || len(entries) != 1 || entries[0].Name() != "tool" {
		t.Errorf("the folder for PATH holds %v, %v, want the program alone", entries, err)
	}
	if _, err := os.Stat(filepath.Join(in.Dir, "b")); err != nil {
		t.Errorf("the program did not exchange the folder: %v", err)
	}
}

// listing is every file below a folder, with its mode, owner and text.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		text := []byte("")
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(path)
		}
		st := info.Sys().(*syscall.Stat_t)
		for _, word := range []string{path, info.Mode().String(), string(rune('0' + st.Uid%10)), string(text), "\n"} {
			all.WriteString(word + " ")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
