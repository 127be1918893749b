package fakegithub

import (
	"net/http"
	"strings"
	"time"
)

func (f *Forge) getUser(c *call) {
	if c.token.app() {
		c.refuse(http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	c.answer(http.StatusOK, f.userLocked(c.token.Login).public(c.base))
}

// public is GitHub's public-user.
func (u *user) public(base string) map[string]any {
	out := u.json(base)
	for _, empty := range []string{"name", "company", "location", "email", "hireable", "bio"} {
		out[empty] = nil
	}
	out["blog"] = ""
	for _, zero := range []string{"public_repos", "public_gists", "followers", "following"} {
		out[zero] = 0
	}
	out["created_at"], out["updated_at"] = stamp, stamp
	return out
}

func (f *Forge) getUserByName(c *call) {
	u := f.users[strings.ToLower(c.r.PathValue("login"))]
	if u == nil {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.answer(http.StatusOK, u.public(c.base))
}

func (f *Forge) installation(c *call) {
	if !c.token.app() {
		c.refuse(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation.")
		return
	}
	list := []map[string]any{}
	for _, r := range f.repos {
		if c.token.sees(r) {
			list = append(list, r.json(c.base, c.token))
		}
	}
	c.answer(http.StatusOK, map[string]any{"total_count": len(list), "repositories": page(c, list)})
}

func (f *Forge) meta(c *call) {
	c.answer(http.StatusOK, map[string]any{"verifiable_password_authentication": false})
}

func (f *Forge) rateLimit(c *call) {
	one := map[string]int64{"limit": 5000, "remaining": 5000, "reset": time.Now().Add(time.Hour).Unix(), "used": 0}
	c.answer(http.StatusOK, map[string]any{"resources": map[string]any{"core": one, "search": one, "graphql": one}, "rate": one})
}

func (f *Forge) isCollaborator(c *call) {
	if !c.repo.collaborator(c.r.PathValue("login")) {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.w.WriteHeader(http.StatusNoContent)
}

func (f *Forge) getPermission(c *call) {
	login := c.r.PathValue("login")
	u := f.users[strings.ToLower(login)]
	if u == nil {
		c.refuse(http.StatusNotFound, login+" is not a user")
		return
	}
	role := c.repo.permissions[strings.ToLower(login)]
	if role == "" {
		role = "none"
		if !c.repo.Private {
			role = "read"
		}
	}
	// The older of the two fields knows four words only.
	permission := map[string]string{"maintain": "write", "triage": "read"}[role]
	if permission == "" {
		permission = role
	}
	who := u.json(c.base)
	who["permissions"] = map[string]bool{
		"pull": role != "none", "triage": role != "none" && role != "read", "push": permission == "write" || role == "admin",
		"maintain": role == "maintain" || role == "admin", "admin": role == "admin",
	}
	who["role_name"] = role
	c.answer(http.StatusOK, map[string]any{"permission": permission, "role_name": role, "user": who})
}
