package forge_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]forge.TokenKind{
		"ghs_abc": forge.TokenInstallation, "ghs_1234_eyJ.eyJ.sig": forge.TokenInstallation, "ghp_abc": forge.TokenClassic, "github_pat_abc": forge.TokenFineGrained,
		"gho_abc": forge.TokenOAuth, "ghu_abc": forge.TokenAppUser, "": forge.TokenUnknown, "0123456789abcdef0123456789abcdef01234567": forge.TokenUnknown, "xghs_": forge.TokenUnknown,
	} {
		if got := forge.KindOf(secret.New(token)); got != want {
			t.Errorf("KindOf(%q) = %q, want %q", token, got, want)
		}
	}
}

// Whether workflow files can be pushed is known before money is spent.
func TestWorkflowRight(t *testing.T) {
	t.Parallel()
	const viewer = `{"data":{"viewer":{"login":"github-actions[bot]"}}}`
	for _, test := range []struct {
		name, token string
		scopes      *string
		viewer      string
		want        forge.Answer
		kind        forge.TokenKind
	}{
		{"classic with it", "ghp_0123456789", ptr("repo, workflow"), "", forge.Yes, forge.TokenClassic},
		{"classic, public only", "ghp_0123456789", ptr("public_repo, workflow"), "", forge.Yes, forge.TokenClassic},
		{"classic without", "ghp_0123456789", ptr("repo, read:org"), "", forge.No, forge.TokenClassic},
		{"of old", "0123456789abcdef0123456789abcdef01234567", ptr("repo, workflow"), "", forge.Yes, forge.TokenClassic},
		{"another forge's", "0123456789abcdef0123456789abcdef01234567", nil, "", forge.Unknown, forge.TokenUnknown},
		{"OAuth", "gho_0123456789", ptr("repo"), "", forge.No, forge.TokenOAuth},
		{"fine-grained", "github_pat_0123456789", ptr(""), "", forge.Unknown, forge.TokenFineGrained},
		{"GITHUB_TOKEN", "ghs_0123456789", nil, viewer, forge.No, forge.TokenInstallation},
		{"an App's", "ghs_0123456789", nil, strings.Replace(viewer, "github-actions", "night", 1), forge.Unknown, forge.TokenInstallation},
		{"nobody says", "ghs_0123456789", nil, `<html>`, forge.Unknown, forge.TokenInstallation},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, func(o *forge.Options) { o.Token = secret.New(test.token) })
			headers := []string{"Content-Type", "application/json"}
			if test.scopes != nil {
				headers = append(headers, "X-OAuth-Scopes", *test.scopes)
			}
			l.fault("GET", repositoryPath, 1, answer(200, `{"default_branch":"main","full_name":"octo/greet"}`, headers...))
			l.fault("GET", "/branches/main", 1, answer(200, `{"name":"main"}`))
			l.fault("POST", "/graphql", -1, answer(200, test.viewer))
			got, err := l.client.Preflight(t.Context(), forge.Ask{Base: "main"})
			if err != nil || got.Workflows != test.want || got.Token.Kind != test.kind {
				t.Errorf("Preflight() = %+v, %v, want workflows %v, kind %q", got, err, test.want, test.kind)
			}
		})
	}
}

// A classic token may do what its scopes say, whatever its owner may.
func TestMissingScope(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ scopes, private, want string }{
		{"read:org", "false", "github-token has the scopes read:org and lacks repo (public_repo will do for a public repository)"},
		{"", "false", "github-token has no scopes and lacks repo (public_repo will do for a public repository)"},
		{"public_repo", "true", "github-token has the scopes public_repo and lacks repo"},
	} {
		l := newLab(t, func(o *forge.Options) { o.Token = secret.New("ghp_0123456789") })
		l.fault("GET", repositoryPath, 1, answer(200, `{"default_branch":"main","full_name":"octo/greet","private":`+test.private+`,"permissions":{"push":true,"pull":true}}`, "X-OAuth-Scopes", test.scopes))
		_, err := l.client.Preflight(t.Context(), forge.Ask{Base: "main"})
		if want := "push to octo/greet at " + strings.TrimPrefix(l.url, "http://") + ": not permitted: " + test.want + ": give it the scope, or give another token"; text(err) != want {
			t.Errorf("Preflight(scopes %q) = %v, want %s", test.scopes, err, want)
		}
	}
}

func ptr(s string) *string { return &s }

func TestWhoStartsCI(t *testing.T) {
	t.Parallel()
	job := forge.Identity{Kind: forge.TokenInstallation, Login: "github-actions[bot]"}
	app := forge.Identity{Kind: forge.TokenInstallation, Login: "night-shift[bot]"}
	some := forge.Identity{Kind: forge.TokenInstallation}
	person := forge.Identity{Kind: forge.TokenClassic}
	const ask = "give ci-token, an App's or a personal token used for the push alone."
	const approve = "; those on pull_request wait in the pull request until somebody with write access approves them"
	for _, test := range []struct {
		name       string
		server     string
		push, open forge.Identity
		did        ralph.Operation
		want       string
	}{
		{"GITHUB_TOKEN", "https://ghe.example", job, job, ralph.OperationCreated, "No workflow starts by itself: the branch was pushed with the job's GITHUB_TOKEN, whose pushes and pull requests start none. To have them start, " + ask},
		{"GITHUB_TOKEN on github.com", "https://github.com", job, job, ralph.OperationUpdated, "No workflow starts by itself: the branch was pushed with the job's GITHUB_TOKEN, whose pushes and pull requests start none" + approve + ". To have them start, " + ask},
		{"ci-token, created", "https://ghe.example", person, job, ralph.OperationCreated, "The branch was pushed with a personal token, which starts workflows on push. The pull request was opened with the job's GITHUB_TOKEN, so those on pull_request start with the next push."},
		{"ci-token, updated", "https://github.com", app, job, ralph.OperationUpdated, "The branch was pushed with an App's token of night-shift[bot], so workflows start as for anybody's push."},
		{"an App", "https://github.com", app, app, ralph.OperationCreated, "The branch was pushed with an App's token of night-shift[bot], so workflows start as for anybody's push."},
		{"GITHUB_TOKEN pushed, an App opened", "https://github.com", job, app, ralph.OperationCreated, "The pull request was opened with an App's token of night-shift[bot], which starts workflows on pull_request. The branch was pushed with the job's GITHUB_TOKEN, whose pushes start none: " + ask},
		{"not known which", "https://github.com", some, some, ralph.OperationCreated, "Workflows start for an App's token; if it is the job's GITHUB_TOKEN that pushed, none starts by itself: then " + ask},
		{"another forge", "https://gitea.example", forge.Identity{}, forge.Identity{Login: "maria"}, ralph.OperationCreated, ""},
		{"another forge's user", "https://gitea.example", forge.Identity{Login: "maria"}, forge.Identity{Login: "maria"}, ralph.OperationCreated, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client, err := forge.New(forge.Options{APIURL: "https://api.example", ServerURL: test.server, Repository: "octo/greet", Token: secret.New(token)})
			if err != nil {
				t.Fatal(err)
			}
			if got := client.WhoStartsCI(test.push, test.open, test.did); got != test.want {
				t.Errorf("WhoStartsCI() = %q,\nwant %q", got, test.want)
			}
		})
	}
}

func TestPusher(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	h.client.Identify(t.Context())
	app := h.as(t, appToken, "octo/greet")
	for _, test := range []struct {
		name   string
		client *forge.Client
		ci     string
		want   string
		job    forge.Answer
	}{
		{"no ci-token", h.client, "", "the job's GITHUB_TOKEN", forge.Yes},
		{"the same", h.client, jobToken, "the job's GITHUB_TOKEN", forge.Yes},
		{"an App's", h.client, appToken, "an App's token", forge.No},
		{"a person's", h.client, personalToken, "a personal token", forge.No},
		{"not known which", app, jobToken, "an App's token", forge.Unknown},
	} {
		got := test.client.Pusher(secret.New(test.ci))
		if got.String() != test.want || got.JobToken() != test.job {
			t.Errorf("%s: Pusher() = %v, %v, want %s, %v", test.name, got, got.JobToken(), test.want, test.job)
		}
	}
}

// Who made a pull request is who the token acts as: no call is needed for it.
func TestIdentityFromThePullRequest(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	if got := h.client.Identity(); got.JobToken() != forge.Unknown {
		t.Errorf("Identity() = %v, want nothing known yet", got)
	}
	if _, _, err := h.client.Upsert(t.Context(), wanted()); err != nil {
		t.Fatal(err)
	}
	if got := h.client.Identity(); got.JobToken() != forge.Yes || got.String() != "the job's GITHUB_TOKEN" {
		t.Errorf("Identity() = %v, want GITHUB_TOKEN", got)
	}
	if got := h.as(t, personalToken, "octo/greet").Identify(t.Context()); got != (forge.Identity{Kind: forge.TokenClassic, Login: "maria"}) {
		t.Errorf("Identify() = %+v, want maria", got)
	}
}
