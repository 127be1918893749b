package forgetest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxBlob is GitHub's limit for one blob, in bytes.
const maxBlob = 100 << 20

func (c *call) gitURL(kind, sha string) string {
	return fmt.Sprintf("%s/api/v3/repos/%s/git/%s/%s", c.base, c.repo.FullName(), kind, sha)
}

func (f *Forge) createBlob(c *call) {
	var in struct{ Content, Encoding string }
	if !c.read(&in) {
		return
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			c.refuse(http.StatusUnprocessableEntity, "content is not valid Base64")
			return
		}
	}
	if len(data) > maxBlob {
		c.refuse(http.StatusUnprocessableEntity, "The blob is too large. The maximum is 100 MB.")
		return
	}
	sha, err := c.repo.writeObject("blob", data)
	if err != nil {
		c.refuse(http.StatusInternalServerError, err.Error())
		return
	}
	c.w.Header().Set("Location", c.gitURL("blobs", sha))
	c.answer(http.StatusCreated, map[string]any{"sha": sha, "url": c.gitURL("blobs", sha)})
}

func (f *Forge) getBlob(c *call) {
	sha := c.r.PathValue("sha")
	kind, data, err := c.repo.readObject(sha)
	if err != nil || kind != "blob" {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.answer(http.StatusOK, map[string]any{
		"sha": sha, "node_id": "B_" + sha, "url": c.gitURL("blobs", sha), "size": len(data),
		"content": base64.StdEncoding.EncodeToString(data), "encoding": "base64",
	})
}

// createTree takes the entries in the order given, as GitHub does: later ones win.
func (f *Forge) createTree(c *call) {
	var in struct {
		Base string `json:"base_tree"`
		Tree []struct {
			Path, Mode, Type string
			SHA              *string `json:"sha"`
			Content          *string
		}
	}
	if !c.read(&in) {
		return
	}
	tree := ""
	if in.Base != "" {
		var err error
		if tree, _, err = c.repo.treeOf(in.Base); err != nil {
			c.refuse(http.StatusUnprocessableEntity, "base_tree is not a valid tree oid")
			return
		}
	}
	if len(in.Tree) == 0 {
		c.refuse(http.StatusUnprocessableEntity, "Invalid tree info")
		return
	}
	for _, e := range in.Tree {
		if !goodPath(e.Path) {
			c.refuse(http.StatusUnprocessableEntity, "tree.path contains a malformed path component")
			return
		}
		if strings.HasPrefix(e.Path, ".github/workflows/") && !c.token.may("workflows", "write") {
			if c.token.app() {
				c.refuse(http.StatusForbidden, "Resource not accessible by integration")
			} else {
				c.refuse(http.StatusNotFound, "Not Found") // what a missing scope looks like
			}
			return
		}
		entry := treeEntry{mode: strings.TrimPrefix(e.Mode, "0")}
		switch {
		case e.Content != nil && e.SHA != nil:
			c.refuse(http.StatusUnprocessableEntity, "Must supply either tree.sha or tree.content, not both")
			return
		case e.Content != nil:
			sha, err := c.repo.writeObject("blob", []byte(*e.Content))
			if err != nil {
				c.refuse(http.StatusInternalServerError, err.Error())
				return
			}
			entry.sha = sha
		case e.SHA != nil:
			entry.sha = *e.SHA
		}
		if message := c.repo.wrong(entry); message != "" {
			c.refuse(http.StatusUnprocessableEntity, message)
			return
		}
		var err error
		if tree, err = c.repo.change(tree, e.Path, entry); err != nil {
			c.refuse(http.StatusUnprocessableEntity, err.Error())
			return
		}
	}
	if tree == "" {
		var err error
		if tree, err = c.repo.writeTree(nil); err != nil {
			c.refuse(http.StatusInternalServerError, err.Error())
			return
		}
	}
	_, entries, err := c.repo.treeOf(tree)
	if err != nil {
		c.refuse(http.StatusInternalServerError, err.Error())
		return
	}
	c.answer(http.StatusCreated, c.treeJSON(tree, entries))
}

// wrong says what is the matter with an entry; a submodule's commit lies elsewhere.
func (r *Repository) wrong(e treeEntry) string {
	if !slices.Contains([]string{"100644", "100755", "40000", "160000", "120000"}, e.mode) {
		return "tree.mode must be one of 100644, 100755, 040000, 160000, 120000"
	}
	if e.sha == "" || e.mode == "160000" {
		return ""
	}
	if kind, _, err := r.readObject(e.sha); err != nil || kind != e.kind() {
		return fmt.Sprintf("tree.sha %s is not a valid %s", e.sha, e.kind())
	}
	return ""
}

func goodPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") || strings.Contains(part, "\x00") {
			return false
		}
	}
	return true
}

func (c *call) treeJSON(sha string, entries []treeEntry) map[string]any {
	list := []map[string]any{}
	for _, e := range entries {
		mode := e.mode
		if e.isTree() {
			mode = "040000"
		}
		list = append(list, map[string]any{"path": e.name, "mode": mode, "type": e.kind(), "sha": e.sha, "url": c.gitURL(e.kind()+"s", e.sha)})
	}
	return map[string]any{"sha": sha, "url": c.gitURL("trees", sha), "tree": list, "truncated": false}
}

func (f *Forge) getTree(c *call) {
	sha := c.repo.resolve(c.r.PathValue("sha"))
	tree, entries, err := c.repo.treeOf(sha)
	if err == nil && c.r.URL.Query().Get("recursive") != "" {
		entries, err = c.repo.allOf("", entries)
	}
	if err != nil {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.answer(http.StatusOK, c.treeJSON(tree, entries))
}

// allOf lists a tree with everything below it.
func (r *Repository) allOf(prefix string, entries []treeEntry) ([]treeEntry, error) {
	var all []treeEntry
	for _, e := range entries {
		name := prefix + e.name
		all = append(all, treeEntry{e.mode, name, e.sha})
		if e.isTree() {
			_, below, err := r.treeOf(e.sha)
			if err == nil {
				below, err = r.allOf(name+"/", below)
			}
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

type personJSON struct{ Name, Email, Date string }

// createCommit signs what an installation commits in its own name: GitHub
// verifies a commit of a bot that names neither author nor committer.
func (f *Forge) createCommit(c *call) {
	var in struct {
		Message           string
		Tree              string
		Parents           []string
		Author, Committer *personJSON
		Signature         string
	}
	if !c.read(&in) {
		return
	}
	if in.Message == "" {
		c.invalid("Commit", "message", "missing_field")
		return
	}
	if kind, _, err := c.repo.readObject(in.Tree); err != nil || kind != "tree" {
		c.refuse(http.StatusUnprocessableEntity, "Tree SHA does not exist")
		return
	}
	for _, p := range in.Parents {
		if kind, _, err := c.repo.readObject(p); err != nil || kind != "commit" {
			c.refuse(http.StatusUnprocessableEntity, "Parent SHA does not exist or is not a commit object")
			return
		}
	}
	me := f.userLocked(c.token.Login)
	date := fmt.Sprintf("%d +0000", time.Now().Unix())
	mine := person{me.login, fmt.Sprintf("%d+%s@users.noreply.github.com", me.id, me.login), date}
	commit := commitObject{tree: in.Tree, parents: in.Parents, message: in.Message, author: mine, committer: mine, signature: in.Signature}
	var err error
	if in.Author != nil {
		commit.author, err = in.Author.person(date)
		commit.committer = commit.author
	}
	if in.Committer != nil && err == nil {
		commit.committer, err = in.Committer.person(date)
	}
	if err != nil {
		c.refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n"+err.Error())
		return
	}
	if c.token.app() && in.Author == nil && in.Committer == nil {
		commit.committer = person{"GitHub", "noreply@github.com", date}
		sum := sha256.Sum256(commit.bytes())
		commit.signature = hex.EncodeToString(sum[:])
	}
	sha, err := c.repo.writeObject("commit", commit.bytes())
	if err != nil {
		c.refuse(http.StatusInternalServerError, err.Error())
		return
	}
	c.answer(http.StatusCreated, c.commitJSON(sha, commit))
}

func (p personJSON) person(otherwise string) (person, error) {
	if p.Name == "" || p.Email == "" || strings.ContainsAny(p.Name+p.Email, "<>\n\x00") {
		return person{}, errors.New("name and email are needed, without angle brackets")
	}
	date := otherwise
	if p.Date != "" {
		at, err := time.Parse(time.RFC3339, p.Date)
		if err != nil {
			return person{}, err
		}
		date = fmt.Sprintf("%d %s", at.Unix(), at.Format("-0700"))
	}
	return person{p.Name, p.Email, date}, nil
}

func (p person) json() map[string]any {
	var seconds int64
	var zone string
	_, _ = fmt.Sscan(p.date, &seconds, &zone) // zero when it is broken
	return map[string]any{"name": p.name, "email": p.email, "date": time.Unix(seconds, 0).UTC().Format(time.RFC3339)}
}

// commitJSON is the schema git-commit.
func (c *call) commitJSON(sha string, commit commitObject) map[string]any {
	parents := []map[string]any{}
	for _, p := range commit.parents {
		parents = append(parents, map[string]any{"sha": p, "url": c.gitURL("commits", p), "html_url": c.repo.URL() + "/commit/" + p})
	}
	return map[string]any{
		"sha": sha, "node_id": "C_" + sha, "url": c.gitURL("commits", sha), "html_url": c.repo.URL() + "/commit/" + sha,
		"author": commit.author.json(), "committer": commit.committer.json(), "message": commit.message,
		"tree":    map[string]any{"sha": commit.tree, "url": c.gitURL("trees", commit.tree)},
		"parents": parents, "verification": commit.verification(),
	}
}

func (c commitObject) verification() map[string]any {
	if c.signature == "" {
		return map[string]any{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
	}
	unsigned := c
	unsigned.signature = ""
	return map[string]any{"verified": true, "reason": "valid", "signature": c.signature, "payload": string(unsigned.bytes()), "verified_at": now()}
}

var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// resolve is the commit or tree of a name; empty when there is none.
func (r *Repository) resolve(name string) string {
	if shaPattern.MatchString(name) {
		return name
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "refs/"), "heads/")
	return r.Branch(name)
}

func (f *Forge) getGitCommit(c *call) {
	sha := c.r.PathValue("sha")
	kind, data, err := c.repo.readObject(sha)
	if err != nil || kind != "commit" {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.answer(http.StatusOK, c.commitJSON(sha, parseCommit(data)))
}
