package repo_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// offersOf holds the capabilities of a service, by what git makes them of.
var offersOf sync.Map

// offer is the advertisement of a service (gitprotocol-pack), with git's own
// capabilities; ok is false when git has to be asked.
func (p plain) offer(service string) (b []byte, ok bool) {
	config, err := os.ReadFile(p.path("config"))
	heads, ok := p.refs("refs")
	if err != nil || !ok || len(heads) == 0 || strings.Contains(strings.ToLower(string(config)), "hiderefs") {
		return nil, false
	}
	head, err := os.ReadFile(p.path("HEAD"))
	tip, born := heads[strings.TrimPrefix(strings.TrimSpace(string(head)), "ref: ")]
	if err != nil || slices.ContainsFunc(slices.Collect(maps.Keys(heads)), func(name string) bool { return strings.HasPrefix(name, "refs/tags/") }) {
		return nil, false
	}
	key := fmt.Sprintf("%s %s %t %s", service, config, born, head)
	known, ok := offersOf.Load(key)
	if !ok {
		out, err := p.run(service, "--advertise-refs").Output()
		line, _, _ := strings.Cut(string(out), "\n")
		_, capabilities, found := strings.Cut(line, "\x00")
		if err != nil || !found {
			return nil, false
		}
		known, _ = offersOf.LoadOrStore(key, capabilities)
	}
	var lines []string
	if born && service == "git-upload-pack" {
		lines = append(lines, tip+" HEAD")
	}
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		lines = append(lines, heads[name]+" "+name)
	}
	lines[0] += "\x00" + known.(string)
	var out bytes.Buffer
	for _, line := range lines {
		packet(&out, line+"\n")
	}
	out.WriteString("0000")
	return out.Bytes(), true
}

func packet(out *bytes.Buffer, line string) { fmt.Fprintf(out, "%04x%s", len(line)+4, line) }

// run is git's end of a service.
func (p plain) run(service string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append(append([]string{strings.TrimPrefix(service, "git-"), "--stateless-rpc"}, args...), string(p))...)
	cmd.Env = append(gitEnv(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	return cmd
}

// unpackLimit is how many objects git takes apart instead of keeping the pack.
const unpackLimit = 100

// receive takes a push as receive-pack does, with one process where that has four: git
// itself looks at the objects. It is left to git when anything but one branch moves
// forward, when a hook has a say, and whenever git would refuse it.
func (p plain) receive(request []byte) (answer []byte, ok bool) {
	config, err := os.ReadFile(p.path("config"))
	hooks, herr := os.ReadDir(p.path("hooks"))
	if err != nil || herr != nil || len(hooks) > 0 || !strings.Contains(string(config), "fsckObjects = true") || strings.Count(string(config), "[receive]") != 2 {
		return nil, false
	}
	if len(request) < 4 {
		return nil, false
	}
	n, err := strconv.ParseUint(string(request[:4]), 16, 16)
	if err != nil || n < 4 || int(n)+4 > len(request) || string(request[n:n+4]) != "0000" {
		return nil, false
	}
	command, capabilities, _ := strings.Cut(string(request[4:n]), "\x00")
	pack := request[n+4:]
	f := strings.Fields(command)
	words := strings.Fields(capabilities)
	if len(f) != 3 || !isID.MatchString(f[0]) || !isID.MatchString(f[1]) || !isName.MatchString(f[2]) || !strings.HasPrefix(f[2], "refs/heads/") ||
		!slices.Equal(slices.Sorted(slices.Values(words)), []string{"report-status", "side-band-64k"}) {
		return nil, false
	}
	if len(pack) < 32 || string(pack[:8]) != "PACK\x00\x00\x00\x02" {
		return nil, false
	}
	if n := binary.BigEndian.Uint32(pack[8:]); n == 0 || n >= unpackLimit {
		return nil, false
	}
	if !p.unpack(pack, f[1]) || !p.move(f[2], f[0], f[1]) {
		return nil, false
	}
	var report, out bytes.Buffer
	packet(&report, "unpack ok\n")
	packet(&report, "ok "+f[2]+"\n")
	report.WriteString("0000")
	packet(&out, "\x01"+report.String())
	out.WriteString("0000")
	return out.Bytes(), true
}

// unpack puts the objects of a pack, one of which is the tip, where they belong when all of
// them are sound and none lacks what it names.
func (p plain) unpack(pack []byte, tip string) bool {
	aside, err := os.MkdirTemp(p.path("objects"), "incoming-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(aside)
	cmd := exec.Command("git", "unpack-objects", "-q", "--strict")
	cmd.Dir, cmd.Stdin = string(p), bytes.NewReader(pack)
	cmd.Env = append(gitEnv(), "GIT_DIR=.", "GIT_OBJECT_DIRECTORY="+aside, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+p.path("objects"))
	if cmd.Run() != nil {
		return false
	}
	if _, err := os.Lstat(filepath.Join(aside, tip[:2], tip[2:])); err != nil {
		return false
	}
	return filepath.WalkDir(aside, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(aside, path)
		if err != nil {
			return err
		}
		to := p.path("objects/" + name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.Rename(path, to)
	}) == nil
}

const noID = "0000000000000000000000000000000000000000"

// move moves a reference from one commit to the next, under git's lock.
func (p plain) move(name, from, to string) bool {
	at := p.path(name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return false
	}
	lock, err := os.OpenFile(at+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return false
	}
	now, there := p.ref(name)
	_, err = lock.WriteString(to + "\n")
	switch err = errors.Join(err, lock.Close()); {
	case err != nil:
	case !there && from == noID:
		_, gone := os.Lstat(at)
		if !errors.Is(gone, fs.ErrNotExist) {
			err = fs.ErrExist
		}
	case now != from:
		err = fs.ErrExist
	}
	if err == nil {
		err = os.Rename(lock.Name(), at)
	}
	if err != nil {
		_ = os.Remove(lock.Name())
	}
	return err == nil
}

// simple answers what takes git no thought.
func simple(w http.ResponseWriter, dir, service string, request []byte) bool {
	p, ok := plainAt(dir)
	if !ok || string(p) != dir {
		return false
	}
	var answer []byte
	switch {
	case request == nil:
		answer, ok = p.offer(service)
	case service == "git-receive-pack":
		answer, ok = p.receive(request)
	default:
		ok = false
	}
	if ok {
		_, _ = w.Write(answer)
	}
	return ok
}
