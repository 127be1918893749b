package fakegithub

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// maxBlob is GitHub's limit for one blob, in bytes.
const maxBlob = 100 << 20

func (c *call) gitURL(kind, sha string) string { return c.api("/git/%s/%s", kind, sha) }

func (c *call) createBlob(in struct{ Content, Encoding string }) reply {
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return unprocessable("content is not valid Base64")
		}
	}
	if len(data) > maxBlob {
		return unprocessable("The blob is too large. The maximum is 100 MB.")
	}
	sha, err := c.repo.Write("blob", data)
	if err != nil {
		return broken(err)
	}
	c.w.Header().Set("Location", c.gitURL("blobs", sha))
	return created(object{"sha": sha, "url": c.gitURL("blobs", sha)})
}

func (c *call) getBlob() reply {
	sha := c.r.PathValue("sha")
	kind, data, err := c.repo.read(sha)
	if err != nil || kind != "blob" {
		return notFound()
	}
	return ok(object{
		"sha": sha, "node_id": "B_" + sha, "url": c.gitURL("blobs", sha), "size": len(data), "content": base64.StdEncoding.EncodeToString(data), "encoding": "base64",
	})
}

// getContents tells a file of a branch or commit. Directories are not told.
func (c *call) getContents() reply {
	ref, path := cmp.Or(c.r.URL.Query().Get("ref"), c.repo.DefaultBranch), c.r.PathValue("path")
	sha := cmp.Or(c.repo.Branch(ref), ref)
	name := path
	for part := range strings.SplitSeq(path, "/") {
		_, entries, err := c.repo.treeOf(sha)
		if err != nil {
			return notFound()
		}
		sha, name = "", part
		for _, e := range entries {
			if e.Name == part {
				sha = e.ID
			}
		}
	}
	kind, data, err := c.repo.read(sha)
	if err != nil || kind != "blob" {
		return notFound()
	}
	return ok(c.f.like("file", object{
		"encoding": "base64", "size": len(data), "name": name, "path": path, "sha": sha, "content": base64.StdEncoding.EncodeToString(data),
		"url": c.api("/contents/%s?ref=%s", path, ref), "git_url": c.gitURL("blobs", sha), "html_url": c.html("/blob/%s/%s", ref, path),
	}))
}

type newTree struct {
	Base string `json:"base_tree"`
	Tree []struct {
		Path, Mode, Type string
		SHA              *string `json:"sha"`
		Content          *string
	}
}

// createTree takes the entries in the order given, as GitHub does: later ones win.
func (c *call) createTree(in newTree) reply {
	tree := ""
	var err error
	if in.Base != "" {
		if tree, _, err = c.repo.treeOf(in.Base); err != nil {
			return unprocessable("base_tree is not a valid tree oid")
		}
	}
	if len(in.Tree) == 0 {
		return unprocessable("Invalid tree info")
	}
	for _, e := range in.Tree {
		if !goodPath(e.Path) {
			return unprocessable("tree.path contains a malformed path component")
		}
		if strings.HasPrefix(e.Path, ".github/workflows/") && !c.token.may("workflows", "write") {
			if c.token.app() {
				return refusal(http.StatusForbidden, "Resource not accessible by integration")
			}
			return notFound() // what a missing scope looks like
		}
		entry := gitserver.Entry{Mode: strings.TrimPrefix(e.Mode, "0")}
		switch {
		case e.Content != nil && e.SHA != nil:
			return unprocessable("Must supply either tree.sha or tree.content, not both")
		case e.Content != nil:
			if entry.ID, err = c.repo.Write("blob", []byte(*e.Content)); err != nil {
				return broken(err)
			}
		case e.SHA != nil:
			entry.ID = *e.SHA
		}
		if message := c.repo.wrong(entry); message != "" {
			return unprocessable(message)
		}
		if tree, err = c.repo.change(tree, e.Path, entry); err != nil {
			return unprocessable(err.Error())
		}
	}
	if tree == "" {
		tree, err = c.repo.WriteTree(nil)
	}
	var entries []gitserver.Entry
	if err == nil {
		_, entries, err = c.repo.treeOf(tree)
	}
	if err != nil {
		return broken(err)
	}
	return created(c.treeJSON(tree, entries))
}

// wrong says what is the matter with an entry; a submodule's commit lies elsewhere.
func (r *Repository) wrong(e gitserver.Entry) string {
	if !slices.Contains([]string{"100644", "100755", "40000", "160000", "120000"}, e.Mode) {
		return "tree.mode must be one of 100644, 100755, 040000, 160000, 120000"
	}
	if e.ID != "" && e.Mode != "160000" && !r.is(e.ID, kindOf(e)) {
		return fmt.Sprintf("tree.sha %s is not a valid %s", e.ID, kindOf(e))
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

func (c *call) treeJSON(sha string, entries []gitserver.Entry) object {
	all := list(entries, func(e gitserver.Entry) object {
		return object{"path": e.Name, "mode": fmt.Sprintf("%06s", e.Mode), "type": kindOf(e), "sha": e.ID, "url": c.gitURL(kindOf(e)+"s", e.ID)}
	})
	return object{"sha": sha, "url": c.gitURL("trees", sha), "tree": all, "truncated": false}
}

func (c *call) getTree() reply {
	tree, entries, err := c.repo.treeOf(c.repo.resolve(c.r.PathValue("sha")))
	if err == nil && c.r.URL.Query().Get("recursive") != "" {
		entries, err = c.repo.allOf("", entries)
	}
	if err != nil {
		return notFound()
	}
	return ok(c.treeJSON(tree, entries))
}

// allOf lists a tree with everything below it.
func (r *Repository) allOf(prefix string, entries []gitserver.Entry) ([]gitserver.Entry, error) {
	var all []gitserver.Entry
	for _, e := range entries {
		e.Name = prefix + e.Name
		all = append(all, e)
		if e.IsTree() {
			_, below, err := r.treeOf(e.ID)
			if err == nil {
				below, err = r.allOf(e.Name+"/", below)
			}
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}
