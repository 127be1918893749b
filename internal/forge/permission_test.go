package forge_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/testing/openapi"
)

// allowed answers with GitHub's example for a user, and these words.
func allowed(t *testing.T, user, permission, role string) http.HandlerFunc {
	t.Helper()
	answer := openapi.Example(t, "GET /repos/{owner}/{repo}/collaborators/{username}/permission", 200)
	answer["permission"], answer["role_name"] = permission, role
	answer["user"].(map[string]any)["login"] = user
	return func(w http.ResponseWriter, r *http.Request) { (&ci{}).send(w, r, answer) }
}

// Who may start a run: those who could push anyway.
func TestPermission(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, permission, role string
		want                   forge.Permission
		writes                 bool
	}{
		{"nobody", "none", "", forge.PermissionNone, false},
		{"public repository", "read", "read", forge.PermissionRead, false},
		{"triage", "read", "triage", forge.PermissionTriage, false},
		{"write", "write", "write", forge.PermissionWrite, true},
		{"maintain", "write", "maintain", forge.PermissionMaintain, true},
		{"admin", "admin", "admin", forge.PermissionAdmin, true},
		{"role of their own that may write", "write", "Release Managers", forge.PermissionWrite, true},
		{"role of their own that may read", "read", "Admin", forge.PermissionRead, false},
		{"Gitea's owner", "owner", "owner", forge.PermissionAdmin, true},
		{"a word of tomorrow's", "push", "push", forge.PermissionNone, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, client := newCI(t)
			f.answers["GET /repos/octo/greet/collaborators/octocat/permission"] = allowed(t, "octocat", test.permission, test.role)
			got, err := client.Permission(t.Context(), "octocat")
			if err != nil || got != test.want || got.CanWrite() != test.writes {
				t.Errorf("Permission() = %s, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestPermissionOfNobody(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	if got, err := client.Permission(t.Context(), "stranger"); err != nil || got != forge.PermissionNone {
		t.Errorf("Permission(stranger) = %s, %v, want none", got, err)
	}
	// An App's login stands in the address as it is.
	f.answers["GET /repos/octo/greet/collaborators/renovate[bot]/permission"] = allowed(t, "renovate[bot]", "read", "read")
	if got, err := client.Permission(t.Context(), "renovate[bot]"); err != nil || got != forge.PermissionRead {
		t.Errorf("Permission(renovate[bot]) = %s, %v, want read", got, err)
	}
	f.answers["GET /repos/octo/greet/collaborators/anna/permission"] = allowed(t, "mallory", "admin", "admin")
	_, err := client.Permission(t.Context(), "anna")
	checkError(t, "Permission(anna)", err, "anna", "mallory")
}

// A login is no path.
func TestPermissionOfNoLogin(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	for _, user := range []string{"", ".", "..", "../../user", "a/b", "a b", "a?x=y", "a%2fb", "-a", "[bot]", "a[bot]b", "a\n", "ü", "a[user]", fmt.Sprintf("%0101d", 1)} {
		got, err := client.Permission(t.Context(), user)
		checkError(t, fmt.Sprintf("Permission(%q)", user), err, "no login")
		if got.CanWrite() {
			t.Errorf("Permission(%q) = %s", user, got)
		}
	}
	if len(f.calls) != 0 {
		t.Errorf("calls = %q, want none", f.calls)
	}
}

func TestPermissionRefused(t *testing.T) {
	t.Parallel()
	f, client := newCI(t)
	for said, want := range map[string]string{
		`{"message":"Must have push access to view collaborator permission."}`: "contents: write",
		`{"message":"Resource not accessible by integration"}`:                 "contents: write",
	} {
		f.answers["GET /repos/octo/greet/collaborators/octocat/permission"] = answer(403, said)
		got, err := client.Permission(t.Context(), "octocat")
		checkError(t, "Permission", err, "read the permission of octocat", want)
		if got.CanWrite() {
			t.Errorf("Permission() = %s with an error", got)
		}
	}
	f.answers["GET /repos/octo/greet/collaborators/octocat/permission"] = answer(401, `{"message":"Bad credentials"}`)
	_, err := client.Permission(t.Context(), "octocat")
	checkError(t, "Permission", err, "401")
}
