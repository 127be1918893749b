package fakegithub

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

func (c *call) getUser() reply {
	if c.token.app() {
		return forbidden("Resource not accessible by integration")
	}
	return ok(c.f.userLocked(c.token.Login).json(c.base))
}

func (c *call) getUserByName() reply {
	u := c.f.users[strings.ToLower(c.r.PathValue("login"))]
	if u == nil {
		return notFound()
	}
	return ok(u.json(c.base))
}

func (c *call) installation() reply {
	if !c.token.app() {
		return forbidden("You must authenticate with an installation access token in order to list repositories for an installation.")
	}
	seen := slices.DeleteFunc(slices.Clone(c.f.repos), func(r *Repository) bool { return !c.token.sees(r) })
	all := list(seen, func(r *Repository) object { return r.json(c.base, c.token) })
	return ok(object{"total_count": len(all), "repositories": page(c, all)})
}

func (c *call) rateLimit() reply {
	one := map[string]int64{"limit": 5000, "remaining": 5000, "reset": time.Now().Add(time.Hour).Unix(), "used": 0}
	return ok(object{"resources": object{"core": one, "search": one, "graphql": one}, "rate": one})
}

func (c *call) isCollaborator() reply {
	if !c.repo.collaborator(c.r.PathValue("login")) {
		return notFound()
	}
	return deleted() // 204 as well
}

func (c *call) getPermission() reply {
	login := c.r.PathValue("login")
	u := c.f.users[strings.ToLower(login)]
	if u == nil {
		return refusal(http.StatusNotFound, login+" is not a user")
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
	return ok(object{"permission": permission, "role_name": role, "user": who})
}
