// Package barerepo serves the bare repositories of tests over HTTP. What git answers to half
// of the requests it tells itself, without starting git for it.
package barerepo

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// Serve answers git's smart protocol (gitprotocol-http(5)) by git itself, but for the
// lists of branches: those make half of the requests, and each process costs as much as
// the answer to all of them. env is for git.
func Serve(r gitserver.Repository, w http.ResponseWriter, req *http.Request, asked gitserver.Request, env ...string) {
	method := http.MethodPost
	if asked.Asked == "info/refs" {
		method = http.MethodGet
	}
	if req.Method != method || asked.Service != "git-upload-pack" && asked.Service != "git-receive-pack" {
		http.Error(w, "Only git's smart protocol is spoken here.", http.StatusForbidden)
		return
	}
	protocol := req.Header.Get("Git-Protocol")
	second := asked.Service == "git-upload-pack" && strings.Contains(":"+protocol+":", ":version=2:")
	w.Header().Set("Cache-Control", "no-cache")
	env = append(env, "GIT_PROTOCOL="+protocol)
	if asked.Asked == "info/refs" {
		w.Header().Set("Content-Type", "application/x-"+asked.Service+"-advertisement")
		if !second {
			var first bytes.Buffer
			packet(&first, "# service="+asked.Service+"\n")
			_, _ = first.WriteString("0000")
			_, _ = w.Write(first.Bytes()) // a client that went away cannot be told
		}
		if list, ok := advertisement(r, asked.Service, protocol); ok {
			_, _ = w.Write(list) // likewise
			return
		}
		_ = run(req.Context(), r, env, nil, w, asked.Service, "--advertise-refs") // likewise
		return
	}
	w.Header().Set("Content-Type", "application/x-"+asked.Service+"-result")
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(req.Body)
		if err != nil {
			http.Error(w, "The body is not gzip.", http.StatusBadRequest)
			return
		}
		body = plain
	}
	if second {
		start := make([]byte, len(lsRefsCommand))
		n, _ := io.ReadFull(body, start)
		body = io.MultiReader(bytes.NewReader(start[:n]), body)
		if string(start[:n]) == lsRefsCommand {
			all, err := io.ReadAll(body)
			if list, ok := lsRefs(r, all); ok && err == nil {
				_, _ = w.Write(list)
				return
			}
			body = bytes.NewReader(all)
		}
	}
	_ = run(context.WithoutCancel(req.Context()), r, env, body, w, asked.Service) // git has said it to the client
}

// run runs a service of git.
func run(ctx context.Context, r gitserver.Repository, env []string, in io.Reader, out io.Writer, service string, args ...string) error {
	args = append(append([]string{strings.TrimPrefix(service, "git-"), "--stateless-rpc"}, args...), r.Dir)
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // one of two services, in a directory of the server's own
	cmd.Dir, cmd.Stdin, cmd.Stdout = r.Dir, in, out
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "GIT_EXEC_PATH=" + os.Getenv("GIT_EXEC_PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, //nolint:forbidigo // tests only
		// The repositories are ours whoever owns the files.
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}, env...)
	return cmd.Run()
}

// offers is what this machine's git says that it can do: the whole answer of version 2,
// and the capabilities that stand behind the first branch.
type offers struct{ second, fetch, push string }

// abilities asks git, of a repository like all others.
var abilities = sync.OnceValues(func() (o offers, err error) {
	dir, err := os.MkdirTemp("", "fakegithub")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(dir)
	r, err := gitserver.Init(filepath.Join(dir, "r.git"), "main")
	if err == nil {
		_, err = r.Commit("main", "first", map[string]gitserver.File{"file": {}})
	}
	if err != nil {
		return o, err
	}
	for _, ask := range []struct {
		to                *string
		protocol, service string
	}{{&o.second, "version=2", "git-upload-pack"}, {&o.fetch, "", "git-upload-pack"}, {&o.push, "", "git-receive-pack"}} {
		var out bytes.Buffer
		if err := run(context.Background(), r, []string{"GIT_PROTOCOL=" + ask.protocol}, nil, &out, ask.service, "--advertise-refs"); err != nil {
			return o, fmt.Errorf("%s: %w", ask.service, err)
		}
		if *ask.to = out.String(); ask.protocol == "" {
			first, _, _ := strings.Cut(out.String(), "\n")
			*ask.to = first[strings.IndexByte(first, 0):]
		}
	}
	return o, nil
})

// advertisement is what git says first of a service; ok is false where only git knows.
func advertisement(r gitserver.Repository, service, protocol string) (list []byte, ok bool) {
	git, err := abilities()
	refs, plain := plainRefs(r)
	if err != nil || !plain {
		return nil, false
	}
	var out bytes.Buffer
	can := git.fetch
	switch {
	case service == "git-upload-pack" && protocol == "version=2":
		return []byte(git.second), true
	case protocol != "" && protocol != "version=2":
		return nil, false
	case service == "git-receive-pack":
		can = git.push
	case refs[0].name != "HEAD":
		return nil, false
	}
	for _, one := range refs {
		if service == "git-receive-pack" && one.name == "HEAD" {
			continue
		}
		packet(&out, one.id+" "+one.name+can+"\n")
		can = ""
	}
	return append(out.Bytes(), "0000"...), true
}

const lsRefsCommand = "0014command=ls-refs\n"

// lsRefs answers the command of version 2 that lists branches (gitprotocol-v2(5)).
func lsRefs(r gitserver.Repository, request []byte) (list []byte, ok bool) {
	refs, plain := plainRefs(r)
	if !plain || refs[0].name != "HEAD" {
		return nil, false
	}
	var prefixes []string
	symrefs, arguments, whole := false, false, false
	for len(request) > 0 {
		var n int
		if len(request) < 4 {
			return nil, false
		}
		if _, err := fmt.Sscanf(string(request[:4]), "%04x", &n); err != nil || n > len(request) || n == 2 || n == 3 {
			return nil, false
		}
		line := strings.TrimSuffix(string(request[min(4, n):n]), "\n")
		request = request[max(n, 4):]
		prefix, isPrefix := strings.CutPrefix(line, "ref-prefix ")
		switch {
		case n == 0 && len(request) > 0:
			return nil, false
		case n == 0:
			whole = true
		case n == 1:
			arguments = true
		case isPrefix:
			prefixes = append(prefixes, prefix)
		case line == "symrefs":
			symrefs = true
		case arguments && n > 4 && line != "peel" && line != "unborn":
			return nil, false
		}
	}
	var out bytes.Buffer
	for i, one := range refs {
		if len(prefixes) > 0 && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(one.name, p) }) {
			continue
		}
		line := one.id + " " + one.name
		if i == 0 && symrefs {
			line += " symref-target:" + mainRef
		}
		packet(&out, line+"\n")
	}
	return append(out.Bytes(), "0000"...), whole
}

const mainRef = "refs/heads/main"

type plainRef struct{ name, id string }

// plainRefs lists HEAD, if it exists, and the branches, in git's order; ok is false if
// there is none, or anything but branches and loose commits.
func plainRefs(r gitserver.Repository) (list []plainRef, ok bool) {
	for _, unusual := range []string{"packed-refs", "shallow", "objects/info/alternates"} {
		if _, err := os.Lstat(filepath.Join(r.Dir, unusual)); err == nil {
			return nil, false
		}
	}
	if text, err := os.ReadFile(filepath.Join(r.Dir, "HEAD")); err != nil || string(text) != "ref: "+mainRef+"\n" {
		return nil, false
	}
	if text, err := os.ReadFile(filepath.Join(r.Dir, "config")); err != nil || string(text) != gitserver.Config {
		return nil, false
	}
	err := filepath.WalkDir(filepath.Join(r.Dir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		text, err := os.ReadFile(path)      //nolint:gosec // a directory of the server's own
		rel, _ := filepath.Rel(r.Dir, path) // it lies below
		name, id := filepath.ToSlash(rel), strings.TrimSuffix(string(text), "\n")
		if kind, _, objectErr := r.Object(id); err != nil || objectErr != nil || kind != "commit" {
			return errUnusual
		}
		list = append(list, plainRef{name, id})
		if name == mainRef {
			list = append(list, plainRef{"HEAD", id})
		}
		return nil
	})
	slices.SortFunc(list, func(a, b plainRef) int { return strings.Compare(a.name, b.name) }) // HEAD comes before refs
	return list, err == nil && len(list) > 0
}

var errUnusual = errors.New("for git to tell")

func packet(b *bytes.Buffer, line string) { fmt.Fprintf(b, "%04x%s", len(line)+4, line) }
