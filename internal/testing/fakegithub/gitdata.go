package fakegithub

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
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
