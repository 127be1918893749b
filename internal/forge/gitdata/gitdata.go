// Package gitdata makes commits through the git database of a forge's API, which
// signs them.
package gitdata

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
)

// emptyTree is the tree without entries, which every repository knows.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// GitFile is a path at which a commit differs from the tree it builds on. This
// and the next two are plain structs by other names: what asks for commits and
// what makes them need not know each other.
type GitFile = struct {
	Path string // from the top, valid UTF-8
	Mode string // 100644, 100755, 120000 or 160000; of a removed file what it had
	ID   string // object id in hex; empty: the path is removed
	// Open reads the content of a blob the forge may lack, Size bytes long; nil:
	// the forge has it, or needs none. It is called by several goroutines at a
	// time, and again for another attempt.
	Open func() (io.ReadCloser, error)
	Size int64
}

// GitCommit is a commit to make.
type GitCommit = struct {
	Message string
	Parents []string // ids of commits the forge has
	Base    string   // id of the tree of the first parent
	Tree    string   // id of the tree to come out
	Files   []GitFile
}

// MadeCommit is a commit the forge made.
type MadeCommit = struct {
	ID       string
	Verified bool   // the forge signed it and says so
	Reason   string // why it is not verified, cleaned
	// Object is the commit as git stores it, without its header, when the answer
	// told enough of it: its hash is ID.
	Object []byte
}

// Signer makes commits in one repository. Its methods may be called from several
// goroutines at a time.
type Signer struct{ api *api.Client }

// New returns a signer for a client's repository.
func New(a *api.Client) *Signer { return &Signer{a} }

// SignCommit makes a commit through the forge's git database. Author and
// committer are not sent: only then the forge makes the commit its own, and
// signs it when the token is a bot's (GITHUB_TOKEN, an App's). Objects are
// compared by id: an error says that nothing points to what was stored.
// *api.PermissionError tells a token that may not.
func (s *Signer) SignCommit(ctx context.Context, want GitCommit) (MadeCommit, error) {
	if want.Tree != want.Base && want.Tree != emptyTree {
		if err := s.storeTree(ctx, want); err != nil {
			return MadeCommit{}, err
		}
	}
	request := struct {
		Message string   `json:"message"`
		Tree    string   `json:"tree"`
		Parents []string `json:"parents"`
	}{want.Message, want.Tree, want.Parents}
	var answer github.Commit
	if err := s.api.Call(ctx, http.MethodPost, s.api.Path("/git/commits"), request, &answer); err != nil {
		return MadeCommit{}, s.explainGit("create a commit", want.Files, err)
	}
	var parents []string
	for _, p := range answer.Parents {
		parents = append(parents, p.GetSHA())
	}
	if !objectID(answer.GetSHA()) || answer.GetTree().GetSHA() != want.Tree || !slices.Equal(parents, want.Parents) {
		return MadeCommit{}, fmt.Errorf("create a commit in %s: the forge made another one than was asked for (tree %s, want %s)", s.api.Where(), s.api.Clean(answer.GetTree().GetSHA()), want.Tree)
	}
	verification := answer.GetVerification()
	return MadeCommit{
		ID: answer.GetSHA(), Verified: verification.GetVerified(), Reason: s.api.Clean(verification.GetReason()),
		Object: commitObject(&answer),
	}, nil
}

// storeTree stores the blobs and the tree. Text travels in the tree's own
// requests; should the forge not store it to the byte, it is sent once more as
// blobs.
func (s *Signer) storeTree(ctx context.Context, want GitCommit) error {
	for _, inline := range []bool{true, false} {
		entries, err := s.storeBlobs(ctx, want.Files, inline)
		if err != nil {
			return err
		}
		tree, err := s.storeEntries(ctx, want, entries)
		if err != nil || tree == want.Tree {
			return err
		}
		if !slices.ContainsFunc(entries, func(e gitEntry) bool { return e.inline }) {
			return fmt.Errorf("create a tree in %s: the forge made %s of it, want %s", s.api.Where(), s.api.Clean(tree), want.Tree)
		}
	}
	return nil
}

// MoveBranch brings a branch to a commit by a fast-forward, or creates it.
// moved reports whether this was not possible because somebody else moved, created
// or deleted it meanwhile.
func (s *Signer) MoveBranch(ctx context.Context, branch, commit string, create bool) (moved bool, err error) {
	var answer github.Reference
	operation := fmt.Sprintf("update the branch %q", branch)
	if create {
		operation = fmt.Sprintf("create the branch %q", branch)
		request := struct {
			Ref string `json:"ref"`
			SHA string `json:"sha"`
		}{"refs/heads/" + branch, commit}
		err = s.api.Call(ctx, http.MethodPost, s.api.Path("/git/refs"), request, &answer)
	} else {
		request := struct {
			SHA   string `json:"sha"`
			Force bool   `json:"force"`
		}{commit, false}
		err = s.api.Call(ctx, http.MethodPatch, s.api.Path("/git/refs/heads/%s", api.EscapePath(branch)), request, &answer)
	}
	said := strings.ToLower(s.api.Said(err))
	switch invalid := api.Status(err) == http.StatusUnprocessableEntity || api.Status(err) == http.StatusConflict; {
	case err == nil:
	case invalid && strings.Contains(said, "reference already exists"):
		// Ours, when the first answer got lost.
		if err := s.api.Call(ctx, http.MethodGet, s.api.Path("/git/ref/heads/%s", api.EscapePath(branch)), nil, &answer); err != nil {
			return false, s.explainGit("read the branch that was just created", nil, err)
		}
		return answer.GetObject().GetSHA() != commit, nil
	case invalid && (strings.Contains(said, "not a fast forward") || strings.Contains(said, "reference does not exist")):
		return true, nil
	case invalid && (strings.Contains(said, "rule violations") || strings.Contains(said, "protected branch")):
		return false, fmt.Errorf("%w; choose another branch, or let the token's owner bypass the rule", s.explainGit(operation, nil, err))
	default:
		return false, s.explainGit(operation, nil, err)
	}
	if got := answer.GetObject().GetSHA(); got != commit {
		return false, fmt.Errorf("%s in %s: it is at %s now, want %s", operation, s.api.Where(), s.api.Clean(got), commit)
	}
	return false, nil
}

// probeID is the id of a blob that holds one line end.
const probeID = "8b137891791fe96927ad78e64b0aad7bded08bdc"

// ProbeSigning finds out, before anything is spent, that the forge makes commits
// and that the token may have them made. It stores a blob of one byte, to which
// nothing points. It costs one call.
func (s *Signer) ProbeSigning(ctx context.Context) error {
	var answer github.Blob
	request := map[string]string{"content": "\n", "encoding": "utf-8"}
	if err := s.api.Call(ctx, http.MethodPost, s.api.Path("/git/blobs"), request, &answer); err != nil {
		return s.explainGit("sign commits", nil, err)
	}
	if answer.GetSHA() != probeID {
		return fmt.Errorf("sign commits in %s: the forge does not store what it is given (blob %s, want %s)", s.api.Where(), s.api.Clean(answer.GetSHA()), probeID)
	}
	return nil
}

// explainGit is explain for the git database, which other forges lack, and
// which tells nobody that workflow files need a right of their own.
func (s *Signer) explainGit(operation string, files []GitFile, err error) error {
	workflow := slices.IndexFunc(files, func(f GitFile) bool { return strings.HasPrefix(f.Path, ".github/workflows/") })
	code, said := api.Status(err), s.api.Said(err)
	switch {
	case code == http.StatusUnprocessableEntity && strings.Contains(said, "without `workflow"),
		workflow >= 0 && (code == http.StatusForbidden || code == http.StatusNotFound):
		refused := &workflowError{error: &api.PermissionError{Operation: operation + " in " + s.api.Where(), Permission: "workflows: write", Message: said}}
		if workflow >= 0 {
			refused.path = files[workflow].Path
		}
		return refused
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		return fmt.Errorf("%w; a forge that is not GitHub has no API that makes commits: set sign-commits to false there", s.api.Explain(operation, "contents: write", err))
	}
	return s.api.Explain(operation, "contents: write", err)
}

// workflowError is a refusal for want of the right to change workflow files,
// which GITHUB_TOKEN can never have. It holds a *api.PermissionError.
type workflowError struct {
	error
	path string
}

func (e *workflowError) Unwrap() error { return e.error }

// WorkflowFile is the path of a file that may not be changed; empty when it is
// not known.
func (e *workflowError) WorkflowFile() string { return e.path }

// objectID reports whether s is the id of a git object.
func objectID(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 20 && s == strings.ToLower(s)
}
