package fakegithub

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/testing/barerepo"
)

// git runs git in the bare repository; it cuts the last line's end.
func (r *Repository) git(args ...string) (string, error) {
	out, err := r.gitRaw(args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

func (r *Repository) gitRaw(args ...string) ([]byte, error) { return r.gitEnv(nil, args...) }

func (r *Repository) gitEnv(env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "--git-dir", r.Dir}, args...)...)
	cmd.Dir = r.Dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + r.Dir}, env...) //nolint:forbidigo // tests only
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// serveGit answers git as GitHub does.
func (f *Forge) serveGit(w http.ResponseWriter, r *http.Request) {
	asked, isGit := gitserver.ParseRequest(r)
	if !isGit {
		notFound().send(w)
		return
	}
	token := f.who(r)
	if token == nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "Invalid username or token. Password authentication is not supported for Git operations.", http.StatusUnauthorized)
		return
	}
	f.mu.Lock()
	repo, moved := f.find(asked.Owner, asked.Name)
	visible := repo != nil && token.sees(repo)
	archived := visible && repo.archived
	f.mu.Unlock()
	switch {
	case !visible, !token.may("contents", "read"):
		http.Error(w, "Repository not found.", http.StatusNotFound)
	case moved:
		w.Header().Set("Location", withQuery(repo.URL()+".git/"+asked.Asked, r))
		w.WriteHeader(redirection(r))
	case archived && asked.Pushes():
		http.Error(w, "This repository was archived so it is read-only.", http.StatusForbidden)
	case asked.Pushes() && !token.may("contents", "write"):
		http.Error(w, fmt.Sprintf("Permission to %s.git denied to %s.", repo.FullName(), token.Login), http.StatusForbidden)
	case asked.Asked == "git-receive-pack":
		f.receive(w, r, asked, repo, token)
	default:
		barerepo.Serve(repo.Repository, w, r, asked)
	}
}

// receive takes a push, unless a rule of GitHub's refuses it. Such a refusal
// comes in the report of the push, not as a status.
func (f *Forge) receive(w http.ResponseWriter, r *http.Request, asked gitserver.Request, repo *Repository, token *Token) {
	commands := pushCommands(Body(r))
	for _, one := range commands {
		if branch, ok := strings.CutPrefix(one.ref, "refs/heads/"); ok && f.refuses(repo, branch) {
			report(w, commands, "protected branch hook declined",
				"error: GH006: Protected branch update failed for "+one.ref+".\nerror: Changes must be made through a pull request.\n")
			return
		}
	}
	if token.may("workflows", "write") {
		barerepo.Serve(repo.Repository, w, r, asked, "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1="+os.DevNull)
		repo.settle()
		return
	}
	// The hook looks at what arrived, and leaves the file's name here.
	found := filepath.Join(repo.Dir, "refused-"+rand.Text())
	defer os.Remove(found)
	answer := httptest.NewRecorder()
	barerepo.Serve(repo.Repository, answer, r, asked, "FAKE_REFUSED="+found)
	if name, err := os.ReadFile(found); err == nil && len(name) > 0 {
		report(w, commands, workflowRefusal(token, strings.TrimSpace(string(name))), "")
		return
	}
	send(w, answer)
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
while read -r old new ref; do
	case $new in *[!0]*) ;; *) continue ;; esac
	case $old in *[!0]*) ;; *) old=HEAD... ;; esac
	case $old in
	HEAD...) names=$(git diff --name-only "HEAD...$new" -- .github/workflows 2>/dev/null) ||
		names=$(git diff --name-only 4b825dc642cb6eb9a060e54bf8d69288fbee4904 "$new" -- .github/workflows) ;;
	*) names=$(git diff --name-only "$old" "$new" -- .github/workflows) ;;
	esac
	[ -z "$names" ] || { printf '%s' "${names%%
*}" >"$FAKE_REFUSED"; exit 1; }
done
`

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
