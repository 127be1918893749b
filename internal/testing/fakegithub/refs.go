package fakegithub

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/testing/barerepo"
)

func (c *call) getBranch() reply {
	name := c.r.PathValue("branch")
	sha := c.repo.Branch(name)
	if sha == "" {
		return refusal(404, "Branch not found")
	}
	protected := slices.Contains(c.repo.protected, name)
	return ok(c.f.like("branch", object{
		"name": name, "commit": c.fullCommit(sha), "protected": protected,
		"protection": object{"enabled": protected, "required_status_checks": object{"enforcement_level": "off", "contexts": []string{}, "checks": []string{}}},
	}))
}

func (c *call) compare() reply {
	base, head, separated := strings.Cut(c.r.PathValue("range"), "...")
	if _, branch, ok := strings.Cut(head, ":"); ok { // of an owner
		head = branch
	}
	from, to := c.repo.resolve(base), c.repo.resolve(head)
	if !separated || from == "" || to == "" {
		return notFound()
	}
	counts, err := c.repo.git("rev-list", "--left-right", "--count", from+"..."+to)
	merge, mergeErr := c.repo.git("merge-base", from, to)
	if err != nil || mergeErr != nil {
		return notFound()
	}
	fields := strings.Fields(counts)
	behind, _ := strconv.Atoi(fields[0])
	ahead, _ := strconv.Atoi(fields[1])
	status := map[[2]bool]string{{true, true}: "diverged", {true, false}: "behind", {false, true}: "ahead", {false, false}: "identical"}[[2]bool{behind > 0, ahead > 0}]
	return ok(c.f.like("comparison", object{
		"base_commit": c.fullCommit(from), "merge_base_commit": c.fullCommit(merge), "status": status, "ahead_by": ahead, "behind_by": behind,
		"total_commits": ahead, "commits": page(c, c.commitsBetween(from, to)), "files": []any{},
	}))
}

func (c *call) refJSON(ref, sha string) object {
	return object{
		"ref": ref, "node_id": "REF_" + ref, "url": c.api("/git/%s", ref), "object": object{"type": "commit", "sha": sha, "url": c.gitURL("commits", sha)},
	}
}

func (c *call) getRef() reply {
	name := c.r.PathValue("ref")
	sha := ""
	if strings.HasPrefix(name, "heads/") {
		sha = c.repo.resolve(name)
	}
	if sha == "" {
		return notFound()
	}
	return ok(c.refJSON("refs/"+name, sha))
}

func (c *call) matchingRefs() reply {
	all := []object{}
	heads := c.repo.Heads()
	for _, name := range c.repo.Branches() {
		if ref := "heads/" + name; strings.HasPrefix(ref, c.r.PathValue("ref")) {
			all = append(all, c.refJSON("refs/"+ref, heads[name]))
		}
	}
	return ok(page(c, all))
}

const (
	byPullRequest  = "Changes must be made through a pull request."
	noReference    = "Reference does not exist"
	notFastForward = "Update is not a fast forward"
)

func (c *call) createRef(in struct{ Ref, SHA string }) reply {
	branch, ok := strings.CutPrefix(in.Ref, "refs/heads/")
	if _, err := c.repo.git("check-ref-format", in.Ref); !ok || err != nil {
		return unprocessable("Reference name must start with 'refs/' and contain at least 3 components")
	}
	if !c.repo.is(in.SHA, "commit") {
		return unprocessable("Object does not exist")
	}
	if c.repo.refuses(branch) {
		return unprocessable(byPullRequest)
	}
	if _, err := c.repo.git("update-ref", in.Ref, in.SHA, strings.Repeat("0", 40)); err != nil {
		return unprocessable("Reference already exists")
	}
	return created(c.refJSON(in.Ref, in.SHA))
}

type refChange struct {
	SHA   string
	Force bool
}

// updateRef moves a branch, forward only unless forced.
func (c *call) updateRef(in refChange) reply {
	name := c.r.PathValue("ref")
	old := c.repo.resolve(name)
	switch {
	case !c.repo.is(in.SHA, "commit"):
		return unprocessable("Object does not exist")
	case old == "":
		return unprocessable(noReference)
	case c.repo.refuses(strings.TrimPrefix(name, "heads/")):
		return unprocessable(byPullRequest)
	}
	if !in.Force && !barerepo.Reaches(c.repo.Repository, in.SHA, old) {
		return unprocessable(notFastForward)
	}
	if _, err := c.repo.git("update-ref", "refs/"+name, in.SHA, old); err != nil {
		return unprocessable(notFastForward)
	}
	return ok(c.refJSON("refs/"+name, in.SHA))
}

func (c *call) deleteRef() reply {
	name := c.r.PathValue("ref")
	if c.repo.resolve(name) == "" {
		return unprocessable(noReference)
	}
	if c.repo.refuses(strings.TrimPrefix(name, "heads/")) {
		return unprocessable(byPullRequest)
	}
	if _, err := c.repo.git("update-ref", "-d", "refs/"+name); err != nil {
		return unprocessable(noReference)
	}
	return deleted()
}

func (c *call) listBranches() reply {
	heads := c.repo.Heads()
	return ok(page(c, list(c.repo.Branches(), func(name string) object {
		return object{
			"name": name, "protected": slices.Contains(c.repo.protected, name), "commit": object{"sha": heads[name], "url": c.api("/commits/%s", heads[name])},
		}
	})))
}

func (c *call) listCommits() reply {
	name := cmp.Or(c.r.URL.Query().Get("sha"), c.repo.DefaultBranch)
	out, err := c.repo.git("rev-list", "--max-count=1000", c.repo.resolve(name))
	if err != nil {
		return notFound()
	}
	return ok(list(page(c, strings.Fields(out)), c.fullCommit))
}

// branchRules are those of rulesets, whoever may bypass them.
func (c *call) branchRules() reply {
	all := []object{}
	for i, rule := range c.repo.rules {
		if slices.Contains(rule.branches, c.r.PathValue("branch")) {
			all = append(all, object{"type": rule.kind, "ruleset_source_type": "Repository", "ruleset_source": c.repo.FullName(), "ruleset_id": i + 1})
		}
	}
	return ok(all)
}

func (c *call) getRuleset() reply {
	id, err := strconv.Atoi(c.r.PathValue("id"))
	if err != nil || id < 1 || id > len(c.repo.rules) {
		return notFound()
	}
	rule := c.repo.rules[id-1]
	out := object{"id": id, "name": rule.kind, "source_type": "Repository", "source": c.repo.FullName(), "enforcement": "active"}
	if rule.bypass != "" {
		out["current_user_can_bypass"] = rule.bypass
	}
	return ok(out)
}
