package fakegithub

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// getContents tells a file of a branch or commit, as GET
// /repos/{owner}/{repo}/contents/{path} does. Folders are not told.
func (f *Forge) getContents(c *call) {
	ref := c.r.URL.Query().Get("ref")
	if ref == "" {
		ref = c.repo.DefaultBranch
	}
	sha := c.repo.Branch(ref)
	if sha == "" {
		sha = ref
	}
	path := c.r.PathValue("path")
	name := path
	for part := range strings.SplitSeq(path, "/") {
		_, entries, err := c.repo.treeOf(sha)
		if err != nil {
			c.refuse(http.StatusNotFound, "Not Found")
			return
		}
		sha, name = "", part
		for _, e := range entries {
			if e.name == part {
				sha = e.sha
			}
		}
	}
	kind, data, err := c.repo.readObject(sha)
	if err != nil || kind != "blob" {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	at := c.base + "/api/v3/repos/" + c.repo.FullName() + "/contents/" + path + "?ref=" + ref
	page := c.base + "/" + c.repo.FullName() + "/blob/" + ref + "/" + path
	c.answer(http.StatusOK, map[string]any{
		"type": "file", "encoding": "base64", "size": len(data), "name": name, "path": path, "sha": sha,
		"content": base64.StdEncoding.EncodeToString(data), "url": at, "git_url": c.gitURL("blobs", sha), "html_url": page, "download_url": page,
		"_links": map[string]any{"self": at, "git": c.gitURL("blobs", sha), "html": page},
	})
}
