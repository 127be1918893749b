package fakegithub

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// git runs git in the bare repository.
func (r *Repository) git(args ...string) (string, error) { return r.gitIn(r.dir(), args...) }

// gitIn is git in another bare repository; it cuts the last line's end.
func (r *Repository) gitIn(dir string, args ...string) (string, error) {
	out, err := runGit(dir, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

func (r *Repository) gitRaw(args ...string) ([]byte, error) { return runGit(r.dir(), args...) }

func runGit(dir string, args ...string) ([]byte, error) { return runGitEnv(dir, nil, args...) }

func runGitEnv(dir string, env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "--git-dir", dir}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + dir} //nolint:forbidigo // tests only
	cmd.Env = append(cmd.Env, env...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, problem.String())
	}
	return out.Bytes(), nil
}

// heads are the branches and their tips. They are read as git's files backend
// writes them, because they are asked for after every write.
func (r *Repository) heads() map[string]string {
	tips := map[string]string{}
	const prefix = "refs/heads/"
	packed, err := os.ReadFile(filepath.Join(r.dir(), "packed-refs"))
	if err == nil {
		for line := range strings.Lines(string(packed)) {
			if sha, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(ref, prefix) {
				tips[strings.TrimPrefix(ref, prefix)] = sha
			}
		}
	}
	root := filepath.Join(r.dir(), "refs", "heads")
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return nil //nolint:nilerr // it went away meanwhile
		}
		if sha, err := os.ReadFile(path); err == nil && len(sha) >= 40 { //nolint:gosec // a folder of the test's own
			name, _ := filepath.Rel(root, path) // it lies below
			tips[filepath.ToSlash(name)] = string(sha[:40])
		}
		return nil
	})
	return tips
}

var gitPath = regexp.MustCompile(`^/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)$`)

// serveGit answers git as GitHub does, and lets package demo speak git.
func (f *Forge) serveGit(w http.ResponseWriter, r *http.Request) {
	parts := gitPath.FindStringSubmatch(r.URL.Path)
	if parts == nil {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	token := f.who(r)
	if token == nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "Invalid username or token. Password authentication is not supported for Git operations.", http.StatusUnauthorized)
		return
	}
	f.mu.Lock()
	repo, moved := f.find(parts[1], parts[2])
	visible := repo != nil && token.sees(repo)
	archived := visible && repo.archived
	f.mu.Unlock()
	pushes := parts[3] == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	switch {
	case !visible, !token.may("contents", "read"):
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return
	case moved:
		status := http.StatusMovedPermanently
		if r.Method != http.MethodGet {
			status = http.StatusTemporaryRedirect
		}
		to := repo.URL() + ".git/" + parts[3]
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", to)
		w.WriteHeader(status)
		return
	case archived && pushes:
		http.Error(w, "This repository was archived so it is read-only.", http.StatusForbidden)
		return
	case pushes && !token.may("contents", "write"):
		http.Error(w, fmt.Sprintf("Permission to %s.git denied to %s.", repo.FullName(), token.Login), http.StatusForbidden)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path = "/" + repo.path() + ".git/" + parts[3]
	inner.SetBasicAuth("x-access-token", gitToken)
	if parts[3] == "git-receive-pack" {
		f.receive(w, inner, repo, token)
		return
	}
	f.git.ServeHTTP(w, inner)
}

// receive takes a push, unless a rule of GitHub's refuses it. Such a refusal
// comes in the report of the push, not as a status.
func (f *Forge) receive(w http.ResponseWriter, r *http.Request, repo *Repository, token *Token) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "cut short", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	commands := pushCommands(body)
	for _, one := range commands {
		if branch, ok := strings.CutPrefix(one.ref, "refs/heads/"); ok && f.refuses(repo, branch) {
			report(w, commands, "protected branch hook declined",
				"error: GH006: Protected branch update failed for "+one.ref+".\nerror: Changes must be made through a pull request.\n")
			return
		}
	}
	if token.may("workflows", "write") {
		f.git.ServeHTTP(w, r)
		repo.settle()
		return
	}
	// The hook looks at what arrived, and leaves the file's name here.
	found, err := os.CreateTemp(repo.dir(), "refused-*")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	found.Close()
	defer os.Remove(found.Name())
	if err := writeHook(repo.dir()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r.Header.Set("X-Forgetest-Refused", found.Name())
	answer := newBuffer()
	f.git.ServeHTTP(answer, r)
	if name, err := os.ReadFile(found.Name()); err == nil && len(name) > 0 {
		report(w, commands, workflowRefusal(token, strings.TrimSpace(string(name))), "")
		return
	}
	answer.send(w)
	repo.settle()
}

// workflowRefusal is what GitHub says of a push that changes a workflow.
func workflowRefusal(token *Token, path string) string {
	if token.app() {
		return fmt.Sprintf("refusing to allow a GitHub App to create or update workflow `%s` without `workflows` permission", path)
	}
	return fmt.Sprintf("refusing to allow a Personal Access Token to create or update workflow `%s` without `workflow` scope", path)
}

// hook names the first workflow that a push changes, compared with what the
// branch, or the default branch, had.
const hook = `#!/bin/sh
[ -n "$HTTP_X_FORGETEST_REFUSED" ] || exit 0
while read -r old new ref; do
	case $new in *[!0]*) ;; *) continue ;; esac
	case $old in *[!0]*) ;; *) old=$(git merge-base HEAD "$new" 2>/dev/null) || old=4b825dc642cb6eb9a060e54bf8d69288fbee4904 ;; esac
	name=$(git diff --name-only "$old" "$new" -- .github/workflows | head -n 1)
	[ -z "$name" ] || { printf '%s' "$name" >"$HTTP_X_FORGETEST_REFUSED"; exit 1; }
done
`

func writeHook(dir string) error {
	path := filepath.Join(dir, "hooks", "pre-receive")
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	_, err = temp.WriteString(hook)
	if err == nil {
		err = temp.Chmod(0o755)
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

type pushCommand struct{ old, new, ref string }

// pushCommands reads the commands before the pack (gitprotocol-pack).
func pushCommands(body []byte) []pushCommand {
	var list []pushCommand
	for len(body) >= 4 {
		var n int
		if _, err := fmt.Sscanf(string(body[:4]), "%04x", &n); err != nil || n < 4 || n > len(body) {
			break
		}
		line, _, _ := strings.Cut(strings.TrimSuffix(string(body[4:n]), "\n"), "\x00")
		if fields := strings.Fields(line); len(fields) == 3 {
			list = append(list, pushCommand{fields[0], fields[1], fields[2]})
		}
		body = body[n:]
	}
	return list
}

// report refuses every command of a push with a reason, in side bands.
func report(w http.ResponseWriter, commands []pushCommand, reason, said string) {
	var status bytes.Buffer
	packet(&status, "unpack ok\n")
	for _, one := range commands {
		packet(&status, "ng "+one.ref+" "+reason+"\n")
	}
	status.WriteString("0000")
	var out bytes.Buffer
	if said != "" {
		packet(&out, "\x02"+said)
	}
	packet(&out, "\x01"+status.String())
	out.WriteString("0000")
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(out.Bytes()) // a client that went away cannot be told
}

func packet(b *bytes.Buffer, line string) { fmt.Fprintf(b, "%04x%s", len(line)+4, line) }
