package fakegithub

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (f *Forge) getBranch(c *call) {
	name := c.r.PathValue("branch")
	sha := c.repo.Branch(name)
	if sha == "" {
		c.refuse(http.StatusNotFound, "Branch not found")
		return
	}
	api := c.base + "/api/v3/repos/" + c.repo.FullName()
	protected := slices.Contains(c.repo.protected, name)
	c.answer(http.StatusOK, map[string]any{
		"name": name, "commit": c.fullCommit(sha), "protected": protected, "protection_url": api + "/branches/" + name + "/protection",
		"protection": map[string]any{"enabled": protected, "required_status_checks": map[string]any{"enforcement_level": "off", "contexts": []string{}, "checks": []string{}}},
		"_links":     map[string]any{"self": api + "/branches/" + name, "html": c.repo.URL() + "/tree/" + name},
	})
}

// fullCommit is the schema commit.
func (c *call) fullCommit(sha string) map[string]any {
	_, data, err := c.repo.readObject(sha)
	if err != nil {
		data = nil
	}
	commit := parseCommit(data)
	api := c.base + "/api/v3/repos/" + c.repo.FullName()
	inner := map[string]any{
		"url": c.gitURL("commits", sha), "author": commit.author.json(), "committer": commit.committer.json(), "message": commit.message, "comment_count": 0,
		"tree": map[string]any{"sha": commit.tree, "url": c.gitURL("trees", commit.tree)}, "verification": commit.verification(),
	}
	parents := []map[string]any{}
	for _, p := range commit.parents {
		parents = append(parents, map[string]any{"sha": p, "url": api + "/commits/" + p, "html_url": c.repo.URL() + "/commit/" + p})
	}
	return map[string]any{
		"sha": sha, "node_id": "C_" + sha, "url": api + "/commits/" + sha, "html_url": c.repo.URL() + "/commit/" + sha, "comments_url": api + "/commits/" + sha + "/comments",
		"commit": inner, "author": c.account(commit.author), "committer": c.account(commit.committer), "parents": parents,
	}
}

// account is who an address belongs to; nil when nobody is known by it.
func (c *call) account(p person) any {
	name, ok := strings.CutSuffix(p.email, "@users.noreply.github.com")
	if _, login, found := strings.Cut(name, "+"); found {
		name = login
	}
	if u := c.f.users[strings.ToLower(name)]; ok && u != nil {
		return u.json(c.base)
	}
	return nil
}

func (f *Forge) getCommit(c *call) {
	sha := c.repo.resolve(c.r.PathValue("ref"))
	if kind, _, err := c.repo.readObject(sha); err != nil || kind != "commit" {
		c.refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.r.PathValue("ref"))
		return
	}
	c.answer(http.StatusOK, c.fullCommit(sha))
}

func (f *Forge) compare(c *call) {
	base, head, ok := strings.Cut(c.r.PathValue("range"), "...")
	from, to := c.repo.resolve(base), c.repo.resolve(afterOwner(head))
	if !ok || from == "" || to == "" {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	counts, err := c.repo.git("rev-list", "--left-right", "--count", from+"..."+to)
	merge, mergeErr := c.repo.git("merge-base", from, to)
	if err != nil || mergeErr != nil {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	fields := strings.Fields(counts)
	behind, _ := strconv.Atoi(fields[0])
	ahead, _ := strconv.Atoi(fields[1])
	status := map[[2]bool]string{{true, true}: "diverged", {true, false}: "behind", {false, true}: "ahead", {false, false}: "identical"}[[2]bool{behind > 0, ahead > 0}]
	commits := []map[string]any{}
	for _, one := range slices.Backward(c.repo.between(from, to)) {
		commits = append(commits, c.fullCommit(one.SHA))
	}
	api := c.base + "/api/v3/repos/" + c.repo.FullName() + "/compare/" + c.r.PathValue("range")
	html := c.repo.URL() + "/compare/" + c.r.PathValue("range")
	c.answer(http.StatusOK, map[string]any{
		"url": api, "html_url": html, "permalink_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch",
		"base_commit": c.fullCommit(from), "merge_base_commit": c.fullCommit(merge), "status": status, "ahead_by": ahead, "behind_by": behind,
		"total_commits": ahead, "commits": page(c, commits), "files": []any{},
	})
}

func afterOwner(head string) string {
	if _, branch, ok := strings.Cut(head, ":"); ok {
		return branch
	}
	return head
}

func (c *call) refJSON(ref, sha string) map[string]any {
	return map[string]any{
		"ref": ref, "node_id": "REF_" + ref, "url": c.gitURL(ref, "")[:len(c.gitURL(ref, ""))-1],
		"object": map[string]any{"type": "commit", "sha": sha, "url": c.gitURL("commits", sha)},
	}
}

func (f *Forge) getRef(c *call) {
	name := c.r.PathValue("ref")
	sha := ""
	if strings.HasPrefix(name, "heads/") {
		sha = c.repo.resolve(name)
	}
	if sha == "" {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.answer(http.StatusOK, c.refJSON("refs/"+name, sha))
}

func (f *Forge) matchingRefs(c *call) {
	list := []map[string]any{}
	heads := c.repo.heads()
	for _, name := range c.repo.Branches() {
		if ref := "heads/" + name; strings.HasPrefix(ref, c.r.PathValue("ref")) {
			list = append(list, c.refJSON("refs/"+ref, heads[name]))
		}
	}
	c.answer(http.StatusOK, page(c, list))
}

func (f *Forge) createRef(c *call) {
	var in struct{ Ref, SHA string }
	if !c.read(&in) {
		return
	}
	branch, ok := strings.CutPrefix(in.Ref, "refs/heads/")
	if _, err := c.repo.git("check-ref-format", in.Ref); !ok || err != nil {
		c.refuse(http.StatusUnprocessableEntity, "Reference name must start with 'refs/' and contain at least 3 components")
		return
	}
	if kind, _, err := c.repo.readObject(in.SHA); err != nil || kind != "commit" {
		c.refuse(http.StatusUnprocessableEntity, "Object does not exist")
		return
	}
	if c.protected(branch) {
		return
	}
	if _, err := c.repo.git("update-ref", in.Ref, in.SHA, strings.Repeat("0", 40)); err != nil {
		c.refuse(http.StatusUnprocessableEntity, "Reference already exists")
		return
	}
	c.answer(http.StatusCreated, c.refJSON(in.Ref, in.SHA))
}

func (c *call) protected(branch string) bool {
	if !c.repo.refuses(branch) {
		return false
	}
	c.refuse(http.StatusUnprocessableEntity, "Changes must be made through a pull request.")
	return true
}

// updateRef moves a branch, forward only unless forced.
func (f *Forge) updateRef(c *call) {
	var in struct {
		SHA   string
		Force bool
	}
	if !c.read(&in) {
		return
	}
	ref := "refs/" + c.r.PathValue("ref")
	old := c.repo.resolve(c.r.PathValue("ref"))
	if kind, _, err := c.repo.readObject(in.SHA); err != nil || kind != "commit" {
		c.refuse(http.StatusUnprocessableEntity, "Object does not exist")
		return
	}
	if old == "" {
		c.refuse(http.StatusUnprocessableEntity, "Reference does not exist")
		return
	}
	if c.protected(strings.TrimPrefix(ref, "refs/heads/")) {
		return
	}
	if _, err := c.repo.git("merge-base", "--is-ancestor", old, in.SHA); err != nil && !in.Force {
		c.refuse(http.StatusUnprocessableEntity, "Update is not a fast forward")
		return
	}
	if _, err := c.repo.git("update-ref", ref, in.SHA, old); err != nil {
		c.refuse(http.StatusUnprocessableEntity, "Update is not a fast forward")
		return
	}
	c.answer(http.StatusOK, c.refJSON(ref, in.SHA))
}

func (f *Forge) deleteRef(c *call) {
	name := c.r.PathValue("ref")
	if c.repo.resolve(name) == "" {
		c.refuse(http.StatusUnprocessableEntity, "Reference does not exist")
		return
	}
	if c.protected(strings.TrimPrefix(name, "heads/")) {
		return
	}
	if _, err := c.repo.git("update-ref", "-d", "refs/"+name); err != nil {
		c.refuse(http.StatusUnprocessableEntity, "Reference does not exist")
		return
	}
	c.w.WriteHeader(http.StatusNoContent)
}

func (f *Forge) listBranches(c *call) {
	list := []map[string]any{}
	heads := c.repo.heads()
	for _, name := range c.repo.Branches() {
		list = append(list, map[string]any{
			"name": name, "protected": slices.Contains(c.repo.protected, name),
			"commit": map[string]any{"sha": heads[name], "url": c.base + "/api/v3/repos/" + c.repo.FullName() + "/commits/" + heads[name]},
		})
	}
	c.answer(http.StatusOK, page(c, list))
}

func (f *Forge) listCommits(c *call) {
	name := c.r.URL.Query().Get("sha")
	if name == "" {
		name = c.repo.DefaultBranch
	}
	out, err := c.repo.git("rev-list", "--max-count=1000", c.repo.resolve(name))
	if err != nil {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	list := []map[string]any{}
	for _, sha := range page(c, strings.Fields(out)) {
		list = append(list, c.fullCommit(sha))
	}
	c.answer(http.StatusOK, list)
}

// branchRules are those of rulesets, whoever may bypass them.
func (f *Forge) branchRules(c *call) {
	list := []map[string]any{}
	for i, rule := range c.repo.rules {
		if slices.Contains(rule.branches, c.r.PathValue("branch")) {
			list = append(list, map[string]any{"type": rule.kind, "ruleset_source_type": "Repository", "ruleset_source": c.repo.FullName(), "ruleset_id": i + 1})
		}
	}
	c.answer(http.StatusOK, list)
}

func (f *Forge) getRuleset(c *call) {
	id, err := strconv.Atoi(c.r.PathValue("id"))
	if err != nil || id < 1 || id > len(c.repo.rules) {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	rule := c.repo.rules[id-1]
	out := map[string]any{"id": id, "name": rule.kind, "source_type": "Repository", "source": c.repo.FullName(), "enforcement": "active"}
	if rule.bypass != "" {
		out["current_user_can_bypass"] = rule.bypass
	}
	c.answer(http.StatusOK, out)
}
