package forge_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
)

// What users read when a pull request cannot be made or updated, word for word.
func TestWhatUsersRead(t *testing.T) {
	t.Parallel()
	create := "create the pull request ralph/x -> main in octo/greet at HOST: "
	byHand := "; or open the pull request by hand: URL/octo/greet/compare/main...ralph/x"
	for _, test := range []struct {
		name   string
		before func(*testing.T, *hub)
		want   string
	}{
		{"422", func(_ *testing.T, h *hub) {
			h.on("POST", "/pulls", -1, jsonAnswer(422, `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"not all refs are readable"}]}`))
		}, create + "the forge refused it (422): Validation Failed: not all refs are readable"},
		{"422 without a word", func(_ *testing.T, h *hub) { h.on("POST", "/pulls", -1, jsonAnswer(422, `{}`)) }, create + "the forge refused it (422): it gives no reason"},
		{"403", func(_ *testing.T, h *hub) {
			h.on("POST", "/pulls", -1, jsonAnswer(403, `{"message":"Resource not accessible by integration"}`))
		}, create + `not permitted (the forge says "Resource not accessible by integration"): github-token lacks pull-requests: write: add it to the workflow's permissions, or to the token` + byHand},
		{"403 without a word", func(_ *testing.T, h *hub) { h.on("POST", "/pulls", -1, jsonAnswer(403, `{}`)) },
			create + `not permitted: github-token lacks pull-requests: write: add it to the workflow's permissions, or to the token` + byHand},
		{"single sign-on", func(_ *testing.T, h *hub) {
			h.on("POST", "/pulls", -1, answer(403, `{"message":"Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization."}`, "X-GitHub-SSO", "required; url=https://github.com/orgs/octo/sso?authorization_request=x"))
		}, create + `the organization wants single sign-on (the forge says "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization."): authorize the token for it, under Settings > Developer settings of its owner`},
		{"the setting", func(_ *testing.T, h *hub) { h.repo.MayNotOpen = true },
			create + `not permitted (the forge says "GitHub Actions is not permitted to create or approve pull requests."): turn on "Allow GitHub Actions to create and approve pull requests" under Settings > Actions > General > Workflow permissions (URL/octo/greet/settings/actions), where it is greyed out first in the organization's settings; or give github-token a personal or App token` + byHand},
		{"404", func(_ *testing.T, h *hub) { h.on("POST", "/pulls", -1, jsonAnswer(404, `{"message":"Not Found"}`)) },
			create + "not found (404): check the name; a token that may not see it gets the same answer and needs pull-requests: write; or one of the branches is not there any more"},
		{"a sign-in page", func(_ *testing.T, h *hub) {
			h.on("POST", "/pulls", -1, answer(403, "<!DOCTYPE html><html><title>Sign in</title></html>", "Content-Type", "text/html"))
		}, create + "a web page was answered (403): see whether a proxy or a sign-in stands before the API, and whether GITHUB_API_URL is its address"},
		{"the base was deleted", func(t *testing.T, h *hub) {
			if err := h.repo.DeleteBranch("main"); err != nil {
				t.Fatal(err)
			}
		}, create + `the forge refused it (422): Validation Failed: base invalid: the base branch "main" is not there any more: restore it, or name another`},
		{"the branch was deleted", func(t *testing.T, h *hub) {
			if err := h.repo.DeleteBranch("ralph/x"); err != nil {
				t.Fatal(err)
			}
		}, create + `the forge refused it (422): Validation Failed: head invalid: the branch "ralph/x" is not there any more`},
		{"archived meanwhile", func(_ *testing.T, h *hub) {
			h.on("POST", "/pulls", -1, jsonAnswer(403, `{"message":"Repository was archived so is read-only."}`))
		}, create + `the repository was archived (the forge says "Repository was archived so is read-only."): unarchive it, and run again`},
		{"blocked", func(_ *testing.T, h *hub) {
			h.on("POST", "/pulls", -1, jsonAnswer(451, `{"message":"Repository access blocked"}`))
		}, create + "the repository is archived or locked (451 Repository access blocked)"},
		{"the token expired in the middle", func(_ *testing.T, h *hub) { h.ExpireToken(jobToken, 1) },
			create + "the token was refused (401 Bad credentials): github-token must be a valid token that has not expired; an App's token is valid for one hour, GITHUB_TOKEN until the job ends"},
		{"an update is refused", func(t *testing.T, h *hub) {
			if _, _, err := h.client.Upsert(t.Context(), wanted()); err != nil {
				t.Fatal(err)
			}
			h.on("PATCH", "/pulls/1", -1, jsonAnswer(403, `{"message":"Resource not accessible by integration"}`))
		}, `update pull request #1 in octo/greet at HOST: not permitted (the forge says "Resource not accessible by integration"): github-token lacks pull-requests: write: add it to the workflow's permissions, or to the token` + byHand},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, jobToken)
			test.before(t, h)
			_, _, err := h.client.Upsert(t.Context(), wanted())
			want := strings.NewReplacer("HOST", strings.TrimPrefix(h.URL, "http://"), "URL/octo", h.URL+"/octo").Replace(test.want)
			if err == nil || err.Error() != want {
				t.Errorf("Upsert = %v,\nwant %s", err, want)
			}
		})
	}
}

// What the pre-flight says, word for word.
func TestWhatThePreflightSays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		before func(*hub)
		do     func(context.Context, *hub) error
		want   string
	}{
		{"renamed", func(h *hub) { h.repo.Rename("hello") }, preflight, "the repository octo/greet at HOST is now called octo/hello: use that name"},
		{"archived", func(h *hub) { h.repo.Archive() }, preflight, "push to octo/greet at HOST: the repository is archived or disabled, so nothing can be published: unarchive it, or run with push: false"},
		{"no milestone", func(*hub) {},
			func(ctx context.Context, h *hub) error { return h.client.CheckMilestone(ctx, 9) },
			"milestone: octo/greet at HOST has no milestone 9: give the number at the end of its address (URL/octo/greet/milestones), or leave it out; a token that may not see it gets the same answer and needs issues: read"},
		{"a milestone that may not be read", func(h *hub) { h.on("GET", "/milestones/9", 1, jsonAnswer(403, `{"message":"no"}`)) },
			func(ctx context.Context, h *hub) error { return h.client.CheckMilestone(ctx, 9) }, ""},
		{"protected base", func(h *hub) { h.repo.Protect("main") }, preflight, ""},
		{"blocked", func(h *hub) {
			h.on("GET", "/octo/greet", -1, jsonAnswer(451, `{"message":"Repository access blocked"}`))
		}, preflight, "read the repository in octo/greet at HOST: the repository is archived or locked (451 Repository access blocked)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, jobToken)
			test.before(h)
			err := test.do(t.Context(), h)
			if want := strings.NewReplacer("HOST", strings.TrimPrefix(h.URL, "http://"), "URL/octo", h.URL+"/octo").Replace(test.want); text(err) != want {
				t.Errorf("error = %v,\nwant %s", err, want)
			}
		})
	}
}

func preflight(ctx context.Context, h *hub) error {
	_, err := h.client.Preflight(ctx, forge.Ask{Base: "main"})
	return err
}

// Titles and bodies that no forge takes are made ones that it does.
func TestOddWords(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	for _, test := range []struct {
		name        string
		title, body string
		wantTitle   string
		wantRunes   int
		wantEnd     string
		warning     string
	}{
		{"line breaks", "Fix\r\n greet\u0000\x1b[31m\u0085now\n", "x", "Fix greet [31m now", utf8.RuneCountInString(forge.Marker) + 2, "x", ""},
		{"just fits", "t", forge.Marker + strings.Repeat("é", 65536-len(forge.Marker)), "t", 65536, "éé", ""},
		{"the marker makes it too long", "t", strings.Repeat("😀", 65536), "t", 65536, "😀\n\n… (cut)\n", ""},
		{"too long", "t", strings.Repeat("é", 70000), "t", 65536, "é\n\n… (cut)\n", "body: 70000 characters, and the forge takes at most 65536: the end was cut off"},
		{"the marker at the end of a long one", "t", strings.Repeat("é", 70000) + forge.Marker, "t", 65536, "(cut)\n", "body: 70021 characters"},
		{"no UTF-8", "t\xff", "a\xffb\x00c", "t\uFFFD", utf8.RuneCountInString(forge.Marker) + 5, "a\uFFFDbc", ""},
	} {
		want := wanted()
		want.Title, want.Body = test.title, test.body
		_, warnings, err := h.client.Upsert(t.Context(), want)
		if err != nil || (test.warning == "") != (len(warnings) == 0) || !strings.Contains(strings.Join(warnings, ""), test.warning) {
			t.Errorf("%s: Upsert() = %q, %v, want %q", test.name, warnings, err, test.warning)
			continue
		}
		pr := h.repo.Pulls()[0]
		if pr.Title != test.wantTitle || utf8.RuneCountInString(pr.Body) != test.wantRunes || !strings.Contains(pr.Body, forge.Marker) || !strings.HasSuffix(pr.Body, test.wantEnd) {
			t.Errorf("%s: title %q, %d characters, ending %q", test.name, pr.Title, utf8.RuneCountInString(pr.Body), pr.Body[max(len(pr.Body)-30, 0):])
		}
	}
	want := wanted()
	want.HeadRepository = "no repository"
	_, _, err := h.client.Upsert(t.Context(), want)
	checkError(t, "Upsert", err, `the branch's repository is "no repository": want owner/name`)
}

// Whatever a forge answers: an end in time, clean lines, no token, nothing of a
// stranger's taken over.
func FuzzPublishing(f *testing.F) {
	f.Add(200, `{"number":1,"state":"open","node_id":"x","body":"theirs","user":{"login":"`+token+`"},"requested_reviewers":[null],"assignees":[null],"labels":[null],"milestone":{"number":3}}`, "repo, workflow")
	f.Add(200, `[{"number":1,"state":"closed","head":{"ref":"ralph/x","repo":{"full_name":"me/greet"}},"base":{"ref":"main","repo":null}},null,{"id":5,"body":"<!-- ralph-action run -->","user":null}]`, "")
	f.Add(200, `{"data":{"viewer":{"login":"\u001b[31m"},"enablePullRequestAutoMerge":null},"errors":[{"type":"FORBIDDEN","message":"\u202e"}]}`, "")
	f.Add(200, `{"data":[]}`, "\u202e")
	f.Add(422, `{"message":"Validation Failed","errors":[{"field":"base","code":"invalid"},{"message":"Fork collab can't be granted"}]}`, "")
	f.Add(403, `{"message":"is locked\u0000"}`, "")
	f.Add(410, `<html>`, "")
	f.Fuzz(func(t *testing.T, status int, body, scopes string) {
		if status < 100 || status > 999 {
			return // no HTTP status
		}
		header := http.Header{"X-Oauth-Scopes": {scopes}, "Link": {"<http://forge.test/?page=2>; rel=\"next\", <http://forge.test/?page=9>; rel=\"last\""}}
		at := func(repository string) *forge.Client {
			client, err := forge.New(forge.Options{
				APIURL: "http://forge.test/api", ServerURL: "http://forge.test", GraphQLURL: "http://forge.test/graphql", Repository: repository,
				Token: secret.New(token), Transport: answers{status, header, body}, Backoff: time.Nanosecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			return client
		}
		client := at("octo/greet")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var lines []string
		facts, err := client.Preflight(ctx, forge.Ask{Base: "main"})
		lines = append(lines, text(err), facts.Token.String(), text(client.CheckMilestone(ctx, 3)), text(client.CheckFork(ctx, at("me/greet"))))
		found, err := client.Look(ctx, "ralph/x", "main", "me/greet")
		lines = append(lines, text(err), found.Open.URL)
		want := everything()
		want.HeadRepository, want.MaintainerCanModify = "me/greet", true
		done, warnings, err := client.Upsert(ctx, want)
		lines = append(append(lines, text(err), done.URL), warnings...)
		done.Number = 1
		_, err = client.AutoMerge(ctx, done, "SQUASH")
		lines = append(lines, text(err))
		_, err = client.Close(ctx, done)
		lines = append(lines, text(err))
		ref, err := client.Comment(ctx, 1, runMarker, body, forge.CommentRef{})
		lines = append(lines, text(err), ref.URL, client.WhoStartsCI(client.Identity(), client.Identity(), done.Operation))
		for _, line := range lines {
			if strings.Contains(line, token) || strings.ContainsAny(line, "\n\r\x00\x1b\u202e") || len(line) > 8000 {
				t.Errorf("%d %q gave %q", status, body, line)
			}
		}
	})
}

// The pull request appeared meanwhile, and the list is behind.
func TestListIsBehind(t *testing.T) {
	t.Parallel()
	h := newHub(t, appToken)
	if _, _, err := h.as(t, personalToken, "octo/greet").Upsert(t.Context(), wanted()); err != nil {
		t.Fatal(err)
	}
	h.on(http.MethodGet, "/pulls", 3, jsonAnswer(200, `[]`))
	want := wanted()
	want.Title = "Mine"
	done, warnings, err := h.client.Upsert(t.Context(), want)
	if err != nil || len(warnings) > 0 || done.Number != 1 || h.repo.Pulls()[0].Title != "Mine" || len(h.repo.Pulls()) != 1 {
		t.Errorf("Upsert() = %+v, %q, %v, want #1 updated", done, warnings, err)
	}
}
