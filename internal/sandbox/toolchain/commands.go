package toolchain

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Command is a program that PATH finds.
type Command struct {
	Name  string
	Path  string
	Needs []string // files that must be readable for it to start, itself first: an interpreter, what a shim goes on as
}

// Lookup finds a program on PATH.
type Lookup func(name string) (string, error)

// Commands are what PATH finds outside of the system's folders, each name once, the usual
// ones first. Folders in one of without are left out. What lies in a folder of the system
// starts in every sandbox, unless it is a link to somewhere else.
func Commands(path string, look Lookup, without ...string) []Command {
	var all []Command
	seen, found := map[string]bool{}, map[string]string{}
	done, folders := map[string]bool{}, folders{}
	remembered := func(name string) (path string, err error) { // many scripts have the same interpreter
		path, ok := found[name]
		if !ok {
			path, err = look(name)
			found[name] = path
		}
		return path, err
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || slices.ContainsFunc(without, func(w string) bool { return w != "" && within(dir, w) }) {
			continue
		}
		real, err := folders.real(dir)
		if err != nil || done[real] { // /bin is /usr/bin
			continue
		}
		done[real] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		system := ofSystem(dir)
		for _, e := range entries {
			c := Command{Name: e.Name(), Path: filepath.Join(dir, e.Name())}
			if seen[c.Name] || e.IsDir() || strings.ContainsRune(c.Name, '\n') {
				continue
			}
			if system {
				target := c.Path
				if e.Type()&os.ModeSymlink != 0 {
					if target, err = folders.target(c.Path); err != nil {
						continue // it leads nowhere
					}
				}
				if ofSystem(target) {
					seen[c.Name] = true
					continue
				}
			}
			if c.Needs = Needs(c.Path, remembered); c.Needs == nil {
				continue
			}
			seen[c.Name] = true
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b Command) int { return rank(a.Name) - rank(b.Name) })
	return all
}

// folders are the real paths of folders: a folder of the system has hundreds of links to its
// neighbours.
type folders map[string]string

func (f folders) real(dir string) (string, error) {
	real, ok := f[dir]
	if ok {
		return real, nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		f[dir] = real
	}
	return real, err
}

// target is [filepath.EvalSymlinks].
func (f folders) target(path string) (string, error) {
	for range maxLinks {
		dir, name := filepath.Split(path)
		if name == "" || name == "." || name == ".." {
			break
		}
		dir, err := f.real(dir)
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, name)
		to, err := os.Readlink(path)
		if errors.Is(err, syscall.EINVAL) { // it is no link
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if path = to; !filepath.IsAbs(to) {
			path = dir + string(filepath.Separator) + to // uncleaned: what comes before .. may be a link
		}
	}
	return filepath.EvalSymlinks(path)
}

const maxLinks = 40 // as Linux follows

// systemFolders hold what the distribution installed: they are open in every sandbox, and
// every user can start what is in them. Below /usr/local and /opt anybody installs.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/etc"}

func ofSystem(path string) bool {
	return !within(path, "/usr/local") && slices.ContainsFunc(systemFolders, func(s string) bool { return within(path, s) })
}

// usual are the commands that teams use most.
var usual = strings.Fields("node npm npx pnpm yarn bun deno python python3 pip pip3 pytest uv poetry go cargo rustc java javac mvn gradle " +
	"dotnet ruby bundle rake php composer make cmake gcc g++ clang git")

func rank(name string) int {
	if i := slices.Index(usual, name); i >= 0 {
		return i
	}
	return len(usual)
}

// Needs are the files that must be readable for a program to start, itself first; nil if
// it is no program. A program that is no script needs itself alone.
func Needs(program string, look Lookup) []string {
	var all []string
	for range maxNeeds {
		text, ok := head(program)
		if !ok {
			break
		}
		all = append(all, program)
		interpreter, next := goesOn(text, look)
		if interpreter != "" {
			all = append(all, interpreter)
		}
		if program = next; program == "" {
			break
		}
	}
	return all
}

// maxNeeds bounds the scripts that start each other.
const maxNeeds = 4

// shimTarget is what a script of a version manager goes on as, such as pyenv's: the first
// path that it execs. Empty if it execs none.
func shimTarget(script []byte) string {
	for line := range bytes.Lines(script) {
		command, ok := bytes.CutPrefix(bytes.TrimLeft(line, " \t"), []byte("exec "))
		if !ok {
			continue
		}
		command = bytes.TrimPrefix(command, []byte(`"`))
		end := bytes.IndexFunc(command, func(r rune) bool {
			return r >= utf8.RuneSelf || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("./+-", r)
		})
		if end < 0 {
			end = len(command)
		}
		if end > 1 && command[0] == '/' {
			return string(command[:end])
		}
	}
	return ""
}

// goesOn is what the kernel starts for a script, and the program that is started
// then: by env, or by a shim. Both are empty for what is no script.
func goesOn(text []byte, look Lookup) (interpreter, next string) {
	line, ok := bytes.CutPrefix(text, []byte("#!"))
	if !ok {
		return "", ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return "", ""
	}
	if filepath.Base(words[0]) == "env" {
		for _, word := range words[1:] {
			if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
				continue
			}
			if found, err := look(word); err == nil && filepath.IsAbs(found) {
				next = found
			}
			break
		}
	}
	if len(text) < maxHead {
		next = cmp.Or(shimTarget(text), next)
	}
	return words[0], next
}

// maxHead is how much of a program is read: a shim is shorter.
const maxHead = 4096

// head is how a program begins; ok is false for what is none. One that cannot be read
// can be a program, too.
func head(program string) (text []byte, ok bool) {
	info, err := os.Stat(program)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil, false
	}
	f, err := os.OpenFile(program, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, true
	}
	defer f.Close()
	text = make([]byte, 2, maxHead)
	if _, err := io.ReadFull(f, text); err != nil || string(text) != "#!" {
		return nil, true
	}
	n, _ := io.ReadFull(f, text[2:maxHead])
	return text[:2+n], true
}
