package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// Permission is what somebody may do in the repository; each includes those
// before it.
type Permission int

// The permissions, from least to most.
const (
	PermissionNone Permission = iota
	PermissionRead
	PermissionTriage
	PermissionWrite
	PermissionMaintain
	PermissionAdmin
)

// String is GitHub's word for it.
func (p Permission) String() string {
	return [...]string{"none", "read", "triage", "write", "maintain", "admin"}[p]
}

// CanWrite reports whether somebody may push.
func (p Permission) CanWrite() bool { return p >= PermissionWrite }

// userPattern admits the logins of GitHub (letters, digits and hyphens; an
// underscore in those an enterprise manages; [bot] behind those of Apps) and of
// Gitea (a dot, too), and nothing that would change the address it stands in.
var userPattern = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(\[bot\])?$`)

// Permission asks what a user may do. A user the forge does not know, or who is
// no collaborator of a private repository, may do nothing, which is no error;
// anybody may read a public one. A role of an organization's own counts as the
// one it is based on. An error says what the token needs for the question.
//
// An App is no user on GitHub: whatever it may do, the answer is none or read.
func (c *Client) Permission(ctx context.Context, user string) (Permission, error) {
	if !userPattern.MatchString(user) {
		return PermissionNone, fmt.Errorf("read the permission of a user in %s: %q is no login: want letters, digits and hyphens, such as octocat or dependabot[bot]", c.api.Where(), c.api.Clean(user))
	}
	var answer struct {
		Permission string `json:"permission"`
		Role       string `json:"role_name"`
		User       *struct {
			Login string `json:"login"`
		} `json:"user"`
	}
	operation := fmt.Sprintf("read the permission of %s", user)
	err := c.api.Call(ctx, http.MethodGet, c.api.Path("/collaborators/%s/permission", url.PathEscape(user)), nil, &answer)
	switch {
	case api.Status(err) == http.StatusNotFound:
		return PermissionNone, nil
	case err != nil:
		return PermissionNone, c.api.Explain(operation, "contents: write (only who may push is told what others may do; on Gitea, who administers the repository)", err)
	case answer.User != nil && !strings.EqualFold(answer.User.Login, user):
		return PermissionNone, fmt.Errorf("%s in %s: the answer is about %q", operation, c.api.Where(), c.api.Clean(answer.User.Login))
	}
	return permissionOf(answer.Permission, strings.ToLower(answer.Role)), nil
}

// permissionOf reads an answer. The permission is the base of the role, in the
// words of before there were roles: maintain is write and triage is read. owner
// is Gitea's.
func permissionOf(permission, role string) Permission {
	if permission == "write" && role == "maintain" || permission == "read" && role == "triage" {
		permission = role
	}
	return map[string]Permission{
		"admin": PermissionAdmin, "owner": PermissionAdmin, "maintain": PermissionMaintain, "write": PermissionWrite, "triage": PermissionTriage, "read": PermissionRead,
	}[permission]
}
