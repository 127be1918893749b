package agent

import (
	"encoding/json"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
)

// anthropicLogin is where claude 2.1.329 renews a login.
const anthropicLogin = "https://platform.claude.com"

// elsewhere: settings and arguments of claude's that name a key or an address.
func (claude) elsewhere() []string {
	return []string{"apiKeyHelper", "_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_"}
}

// door is for Anthropic's API, or one that is compatible, and for the keys that
// are sent as they are. Of several keys the first of the catalogue is used,
// and the others are taken out.
func (claude) door(o Options) (Door, bool) {
	p := providerOf(o)
	if p.name != "anthropic" {
		return Door{}, false
	}
	d := Door{
		Upstream: firstOf(o.BaseURL, lookup(o.Env, p.url), catalog.Of("claude").Address), Header: "Authorization", Scheme: "Bearer",
		Endpoints: anthropicEndpoints("/v1"), KeyVariable: claudeKey(o),
	}
	if d.KeyVariable == catalog.Of("claude").Provider(p.name).Key {
		d.Header, d.Scheme = "x-api-key", ""
	}
	return d, true
}

// through turns off that WebFetch asks api.anthropic.com about each host first
// (2.1.329): it does so at that very address, which is none of [Hosts] then, and
// fails without an answer. Which hosts may be asked is for our walls to say.
func (claude) through(o Options) Options {
	const name = "skipWebFetchPreflight"
	if o.Argument || o.Scratch == "" {
		return o
	}
	settings := map[string]json.RawMessage{}
	if o.Settings != "" {
		var err error
		if settings, err = jsonObject("agent-settings", o.Settings); err != nil || settings[name] != nil {
			return o // New says what is wrong
		}
	}
	settings[name] = json.RawMessage("true")
	if text, err := plainJSON(settings); err == nil {
		o.Settings = string(text)
	}
	return o
}

// hosts: regions as claude and the libraries of the clouds read them. The hosts of
// identities are those a workload's identity is exchanged at.
func (claude) hosts(o Options) []string {
	p := providerOf(o)
	address := firstOf(o.BaseURL, lookup(o.Env, p.url))
	switch p.name {
	case "bedrock":
		region := firstOf(label(lookup(o.Env, "AWS_REGION")), label(lookup(o.Env, "AWS_DEFAULT_REGION")), "us-east-1")
		domain := "amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			domain += ".cn"
		}
		if address != "" {
			return hostsOf(address, "https://sts."+region+"."+domain)
		}
		return []string{"bedrock-runtime." + region + "." + domain, "bedrock." + region + "." + domain, "sts." + region + "." + domain}
	case "vertex":
		return append(vertexHosts(o, firstOf(label(lookup(o.Env, "CLOUD_ML_REGION")), "us-east5")), hostsOf(address)...)
	case "foundry":
		var login []string
		if lookup(o.Env, catalog.Of("claude").Provider(p.name).Key) == "" {
			login = []string{"login.microsoftonline.com"}
		}
		if resource := label(lookup(o.Env, "ANTHROPIC_FOUNDRY_RESOURCE")); address == "" && resource != "" {
			return append(login, resource+".services.ai.azure.com")
		}
		return append(login, hostsOf(address)...)
	}
	hosts := hostsOf(firstOf(address, catalog.Of("claude").Address))
	if !hasKey(o, "claude") && !federated(o, "ANTHROPIC") { // a login in the home is renewed
		hosts = append(hosts, hostsOf(anthropicLogin)...)
	}
	return hosts
}

// vertexHosts are those of Google's models in a region, and of the identity of a
// workload.
func vertexHosts(o Options, region string) []string {
	hosts := []string{"aiplatform.googleapis.com", "oauth2.googleapis.com"}
	switch region {
	case "", "global":
	case "us", "eu":
		hosts = append(hosts, "aiplatform."+region+".rep.googleapis.com")
	default:
		hosts = append(hosts, region+"-aiplatform.googleapis.com")
	}
	if lookup(o.Env, "GOOGLE_APPLICATION_CREDENTIALS") != "" {
		hosts = append(hosts, "sts.googleapis.com", "iamcredentials.googleapis.com", "*.actions.githubusercontent.com")
	}
	return hosts
}

// label is a text that can stand between the dots of a host's name; empty for any
// other.
func label(s string) string {
	if len(s) > 63 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
		return ""
	}
	return strings.ToLower(s)
}
