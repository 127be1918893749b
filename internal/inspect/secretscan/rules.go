package secretscan

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
)

// gitleaksRules are the default rules of gitleaks, written by cmd/gen from the module that
// go.mod names. MIT license, see gitleaks.LICENSE.
//
//go:embed gitleaks.json
var gitleaksRules []byte

// ruleFile is the part of a gitleaks configuration that is used. Nothing is compiled when
// it is read: of 220 expressions a scan needs a few.
// https://github.com/gitleaks/gitleaks#configuration
type ruleFile struct {
	Allowlist ruleAllow
	Rules     []ruleSpec
}

type ruleSpec struct {
	ID          string
	Regex       string
	Path        string
	SecretGroup int
	Entropy     float64
	Keywords    []string
	Allowlists  []ruleAllow
}

type ruleAllow struct {
	Condition   string // "AND"; else any of the lists is enough
	Paths       []string
	RegexTarget string // "match", "line"; else the secret
	Regexes     []string
	StopWords   []string
}

func newFormats() *formats {
	var file ruleFile
	if err := json.Unmarshal(gitleaksRules, &file); err != nil {
		panic(err) // a part of this program, and tested
	}
	f := &formats{global: newAllow(global(file.Allowlist))}
	byWord := map[string][]*rule{}
	var texts []string
	for _, spec := range append(changed(file.Rules), ours()...) {
		r := newRule(spec)
		if n := tails()[r.ID]; n > 0 {
			r.follows = token(n)
		} else if slices.Equal(spec.Keywords, []string{"://"}) {
			r.follows = userInfo
		}
		if spec.Regex == "" {
			f.byPath = append(f.byPath, r)
			continue
		}
		for _, w := range spec.Keywords {
			w = strings.ToLower(w)
			if byWord[w] == nil {
				texts = append(texts, w)
			}
			byWord[w] = append(byWord[w], r)
		}
	}
	f.words = newWords(texts)
	for _, w := range texts {
		f.rules = append(f.rules, byWord[w])
	}
	return f
}

// changed are the rules of gitleaks with what is different here.
func changed(specs []ruleSpec) []ruleSpec {
	var kept []ruleSpec
	for _, spec := range specs {
		switch spec.ID {
		case "kubernetes-secret-yaml": // definitions of resources are full of the word
			spec.Keywords = []string{"kind: secret", "kind: \"secret", "kind: 'secret"}
		case "jwt":
			spec.Keywords = []string{"eyj", "eyai"} // a header that begins with {" or { "
		case "lob-api-key", "lob-pub-api-key":
			spec.Keywords = []string{"lob"} // where an assignment is tried
		case "new-relic-browser-api-token", "new-relic-insert-key", "new-relic-user-api-key":
			spec.Keywords = []string{"newrelic", "new-relic", "new_relic"}
		case "sidekiq-sensitive-url": // at the end of a line, too
			spec.Regex = strings.TrimSuffix(spec.Regex, `|$)`) + `|[\s'"]|$)`
		case "gocardless-api-token":
			spec.Keywords = []string{"gocardless"}
		case "typeform-api-token":
			spec.Keywords = []string{"typeform"}
		case "atlassian-api-token": // an assignment or a token
			if before, token, ok := strings.Cut(spec.Regex, `|\b(ATATT3`); ok {
				alone := spec
				alone.Regex, alone.Keywords = `\b(ATATT3`+token, []string{"atatt3"}
				kept = append(kept, alone)
				spec.Regex, spec.Keywords = before, []string{"atlassian", "confluence", "jira"}
			}
		case "sourcegraph-access-token": // 40 hex digits are a commit, too
			spec.Regex = strings.Replace(spec.Regex, `|[a-fA-F0-9]{40})`, `)`, 1)
			spec.Keywords = []string{"sgp_"}
		}
		kept = append(kept, spec)
	}
	return kept
}

// global is what no rule reports: the list of gitleaks, and what a token is made of when
// it is an example.
func global(list ruleAllow) ruleAllow {
	list.Regexes = append(list.Regexes,
		`(?i)^.{0,100}(?:1234567890|0123456789|abcdef1234|abcdefghijkl|x{8}|0{12}).{0,100}$`,
		`EXAMPLE(?:KEY)?$`, // AWS
		`^sk_test_(?:4eC39HqLyjWDarjtT1zdp7dc|BQokikJOvBiI2HlWgH4olfQ2)$`, // Stripe
		`^eyJhbGciOi[\w-]+\.eyJzdWIiOiIxMjM0NTY3ODkwIi`,                   // jwt.io
		`^eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJzb21lIjoicGF5bG9hZCJ9`, // PyJWT
	)
	return list
}

// tails are rules with words that are frequent in ordinary code, and how many
// characters follow in a token.
func tails() map[string]int {
	return map[string]int{
		"jwt":                                16,
		"vault-service-token":                24,
		"facebook-page-access-token":         100,
		"authress-service-client-access-key": 20,
		"square-access-token":                18,
		"twilio-api-key":                     32,
	}
}

// ours are formats that gitleaks has no rule for, or one that finds too much.
func ours() []ruleSpec {
	return []ruleSpec{
		{ID: "private-key", Keywords: []string{"-----begin"},
			// The header, and forty characters of a key soon after it: other headers, quotes and escaped
			// line ends may stand between, and the end may be missing.
			Regex: `-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-[^-]){0,300}?[A-Za-z0-9+/=]{40}`},
		{ID: "url-password", Keywords: []string{"://"}, Entropy: 3,
			Regex: `\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s:/?#@'"<>{}$%()\[\]\x60]{0,64}:([^\s:/?#@'"<>{}$()\[\]\x60]{8,300})@(?:[a-zA-Z0-9.-]{1,100}|\[)`,
			Allowlists: []ruleAllow{
				{Regexes: []string{`^[^0-9]*$`, `(?i)passw|secret|token`, `\*\*|\.\.\.`}},
				{RegexTarget: "match", Regexes: []string{`@(?:localhost|127\.|0\.0\.0\.0|\[)`, `(?i)@(?:[a-z0-9.-]*\.)?example(?:\.[a-z]+)?$`, `(?i)@[a-z0-9-]+$`}},
			}},
		{ID: "npmrc-auth", Keywords: []string{"_authtoken", "_auth", "_password"}, Path: `(?:^|/)\.?npmrc$`, Entropy: 3,
			Regex: `(?i)(?:_authToken|_auth|_password)[ \t]{0,5}=[ \t"']{0,5}([^\s"'${}]{8,500})`},
		{ID: "netrc-password", Keywords: []string{"password"}, Path: `(?:^|/)[._]?netrc$`,
			Regex: `(?i)\bpassword\s{1,5}([^\s${}]{4,200})`},
		{ID: "pypirc-password", Keywords: []string{"password"}, Path: `(?:^|/)\.pypirc$`,
			Regex: `(?i)\bpassword[ \t]{0,5}[=:][ \t]{0,5}([^\s${}%]{4,300})`},
		{ID: "docker-auth", Keywords: []string{"\"auth\"", "\"identitytoken\""}, Path: `(?:^|/)(?:\.docker/config\.json|\.dockercfg|\.?dockerconfig(?:\.?json)?|config\.json)$`,
			Regex: `"(?:auth|identitytoken)"\s{0,5}:\s{0,5}"([A-Za-z0-9+/=_.-]{12,1000})"`},
		{ID: "kubeconfig-credentials", Keywords: []string{"client-key-data", "token:"}, Path: `(?i)(?:^|/)(?:\.kube/config|[^/]*kubeconfig[^/]*)$`,
			Regex: `\b(?:client-key-data|token):[ \t]{1,5}["']?([A-Za-z0-9+/=_.-]{16,1000})`},
		{ID: "git-credentials", Keywords: []string{"://"}, Path: `(?:^|/)\.git-credentials$`,
			Regex: `://[^\s:@]{0,100}:([^\s@]{4,300})@`},
		{ID: "dotenv-secret", Keywords: []string{"secret", "token", "password", "passwd", "_key", "apikey", "credential"}, Path: `(?:^|/)(?:\.env(?:\.[A-Za-z0-9_-]{1,30})?|[^/]{1,60}\.env)$`, Entropy: 3,
			Regex:      `(?im)^[ \t]{0,5}(?:export[ \t]{1,5})?[A-Z0-9_]{0,60}(?:SECRET|TOKEN|PASSWORD|PASSWD|_KEY|APIKEY|CREDENTIAL)[A-Z0-9_]{0,40}[ \t]{0,5}=[ \t]{0,5}["']?([^\s"'${}<>#]{12,500})`,
			Allowlists: []ruleAllow{{Regexes: []string{`(?i)example|change|your|xxxx|placeholder|dummy|sample|insert|replace|todo`, `^[a-z_-]+$`, `^[A-Z_-]+$`}}}},
		{ID: "aws-secret-access-key", Keywords: []string{"secret_access_key", "secretaccesskey"}, Entropy: 4,
			Regex:      `(?i)secret_?access_?key["']?\s{0,5}(?:=|:|:=|=>)\s{0,5}["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)`,
			Allowlists: []ruleAllow{{Regexes: []string{`EXAMPLE`}}}},
		{ID: "google-oauth-client-secret", Keywords: []string{"gocspx-"}, Entropy: 3,
			Regex: `\bGOCSPX-[A-Za-z0-9_-]{28}\b`},
		{ID: "google-oauth-access-token", Keywords: []string{"ya29."}, Entropy: 3,
			Regex: `\bya29\.[A-Za-z0-9_-]{60,1000}`},
		{ID: "discord-webhook", Keywords: []string{"/api/webhooks/"},
			Regex: `discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,80}`},
		{ID: "anthropic-token", Keywords: []string{"sk-ant-"}, Entropy: 3,
			Regex: `\bsk-ant-[a-z]{2,10}\d{2}-[A-Za-z0-9_-]{60,200}`},
		{ID: "openrouter-api-key", Keywords: []string{"sk-or-v1-"}, Regex: `\bsk-or-v1-[a-f0-9]{64}\b`},
		{ID: "xai-api-key", Keywords: []string{"xai-"}, Entropy: 3, Regex: `\bxai-[A-Za-z0-9]{70,90}\b`},
		{ID: "groq-api-key", Keywords: []string{"gsk_"}, Entropy: 3, Regex: `\bgsk_[A-Za-z0-9]{52}\b`},
		{ID: "docker-token", Keywords: []string{"dckr_"}, Entropy: 3, Regex: `\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,60}`},
	}
}
