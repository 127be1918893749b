package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// checkConfig lists what is wrong with what was configured, one line each.
func (d *doctor) checkConfig() {
	from := "flags and defaults only"
	if len(d.Config.Loaded) > 0 {
		from = "read " + strings.Join(d.Config.Loaded, ", ")
	}
	var wrong []string
	for _, err := range d.Problems {
		wrong = append(wrong, problem.Lines(err)...)
	}
	for _, one := range wrong {
		d.add("configuration", StatusFail, one, "")
	}
	for _, warning := range d.Config.Warnings {
		if strings.HasPrefix(warning, "default of prompt:") {
			continue // ours: a task is not needed here
		}
		d.add("configuration", StatusWarn, warning, "")
	}
	if d.Config.Prompt.Invalid != "" {
		d.add("configuration", StatusFail, d.Config.Prompt.Invalid, "")
		return
	}
	if len(wrong) == 0 {
		d.add("configuration", StatusOK, from, "")
	}
}

// checkGit looks at git and the repository. Nothing of the repository is run: git
// is asked for its references alone, because to compare the files it may start
// filters that the repository's configuration names. It sees no credentials.
func (d *doctor) checkGit(ctx context.Context) {
	program, err := proc.LookPath("git", d.Environ)
	if err != nil {
		d.add("git", StatusFail, "not on PATH", "install git 2.30 or later")
		return
	}
	if d.inWorkspace(program) {
		d.add("git", StatusFail, program+" lies in the workspace, and is not started", "take the workspace out of PATH")
		return
	}
	env := d.outside(append(confine.Environment(d.Environ, nil, map[string]string{"HOME": d.Home}),
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none"))
	git := func(args ...string) (string, error) {
		args = append([]string{"git", "--no-pager", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)
		return d.ask(ctx, d.Tools, d.Workspace, env, args...)
	}
	says, err := d.ask(ctx, d.Tools, d.Tmp, env, "git", "--version")
	if err != nil {
		d.add("git", StatusFail, err.Error(), "install git anew")
		return
	}
	d.add("git", StatusOK, strings.TrimPrefix(says, "git version ")+" ("+program+")", "")

	bad := StatusWarn // a bare loop needs no repository
	if d.Publishes {
		bad = StatusFail
	}
	if err := gitdir.Check(d.Workspace); err != nil {
		advice := gitdir.Advice(d.Look.Local)
		if !errors.Is(err, gitdir.ErrNotRepository) {
			advice = ""
		}
		d.add("repository", bad, err.Error(), advice)
		return
	}
	branch, err := git("symbolic-ref", "--short", "-q", "HEAD")
	if err != nil {
		branch = "a detached HEAD"
	}
	if _, err := git("rev-parse", "--verify", "-q", "HEAD"); err != nil {
		d.add("repository", bad, "on "+branch+", which has no commit yet", "make a first commit")
		return
	}
	found := "on " + branch
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		found += ", shallow"
	}
	d.add("repository", StatusOK, found, "")
}

// checkCommands looks for the programs that guardrails, setup and SCM tasks
// begin with. A shell's own words and what setup may bring are let through.
func (d *doctor) checkCommands(ctx context.Context) {
	type command struct{ what, line string }
	var all []command
	for _, g := range d.Config.Checks.Guardrails {
		all = append(all, command{"guardrail", g.Command})
	}
	for _, line := range d.Config.Checks.Setup {
		all = append(all, command{"setup", line})
	}
	if len(d.Config.Git.SCM.Tasks) > 0 {
		all = append(all, command{"scm-command", strings.Join(d.Config.Git.SCM.Command, " ")})
	}
	missing := 0
	for _, c := range all {
		word := firstWord(c.line)
		if word == "" {
			continue
		}
		if d.finds(word) {
			for _, p := range d.Look.Unstartable(ctx, d.Look.Launches(word)) {
				if kept := d.Look.Kept(p); kept != "" {
					missing++
					d.add("commands", StatusFail, fmt.Sprintf("%s %q cannot be started", c.what, c.line), kept)
				}
			}
			continue
		}
		missing++
		s, found, advice := StatusFail, word+" is not found", "install it, or correct the command"
		look := d.Look
		look.Dir = d.Dir // not that of the children here
		switch {
		case c.what != "guardrail":
		case len(d.Config.Checks.Setup) > 0:
			s, advice = StatusWarn, "setup has to bring it"
		case look.Unmade(word) && !d.Config.Checks.Baseline:
			s, found, advice = StatusWarn, "there is no program "+word+" yet, so it fails until there is one", "let the agent make it, or correct the command"
		}
		if barred := look.Barred(word); barred != "" {
			found, advice, _ = strings.Cut(barred, ": ")
		}
		d.add("commands", s, fmt.Sprintf("%s %q: %s", c.what, c.line, found), advice)
	}
	switch {
	case len(all) == 0:
		d.add("commands", StatusSkip, "no guardrails, setup or SCM tasks are configured", "")
	case missing == 0:
		d.add("commands", StatusOK, fmt.Sprintf("the programs of guardrails, setup and SCM tasks are found (%d)", len(all)), "")
	}
}

// firstWord is the program a simple command line begins with; empty when the
// shell itself does it, or when it is not so simple.
func firstWord(line string) string {
	for word := range strings.FieldsSeq(line) {
		if name, _, ok := strings.Cut(word, "="); ok && !strings.ContainsAny(name, `/"'$`) {
			continue // A=b before the program
		}
		if strings.ContainsAny(word, "$`\"'(){}<>|&;*?[]!#~\\") || slices.Contains(shellWords(), word) {
			return ""
		}
		return word
	}
	return ""
}

func shellWords() []string {
	return strings.Fields(". : alias break case cd command continue do done echo elif else esac eval exec exit export false fi for getopts hash if " +
		"kill printf pwd read readonly return set shift test then times trap true type ulimit umask unset until wait while")
}

// finds says whether a shell in the working directory would find a program.
func (d *doctor) finds(word string) bool {
	if strings.Contains(word, "/") && !filepath.IsAbs(word) {
		info, err := os.Stat(filepath.Join(d.Dir, word))
		return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
	}
	_, err := proc.LookPath(word, d.Environ)
	return err == nil
}

// checkToken asks the forge what the token may do, as a run does before it
// starts.
func (d *doctor) checkToken(ctx context.Context) {
	switch {
	case d.Site.Repository == "":
		d.add("token", StatusSkip, "GITHUB_REPOSITORY is not set: work would stay on this machine", "")
		return
	case !d.Config.Git.Token.IsSet():
		s, advice := StatusSkip, ""
		if d.Publishes && d.Config.Git.Push != config.PushNever {
			s, advice = StatusWarn, "set GITHUB_TOKEN, or the work stays on this machine"
		}
		d.add("token", s, "there is no token (GITHUB_TOKEN) for "+d.Site.Repository, advice)
		return
	case d.Offline:
		d.add("token", StatusSkip, "there is one; what it may do is not asked for (--offline)", "")
		return
	}
	client, err := d.forge(d.Site.Repository)
	if err != nil {
		d.add("token", StatusFail, err.Error(), "")
		return
	}
	facts, err := client.Preflight(ctx, forge.Ask{Base: d.Config.Git.Base})
	if err != nil {
		d.add("token", StatusFail, err.Error(), "give a token for this repository that may read and push: contents: write")
		return
	}
	push := "may push"
	if !facts.CanPush {
		push = "reads, and the forge does not tell an installation's token whether it may push (contents: write)"
	}
	d.add("token", StatusOK, fmt.Sprintf("%s: %s; default branch %s", d.Site.Repository, push, facts.DefaultBranch), "")
	d.checkPublishing(ctx, client, facts)
	if err := client.ProbePullRequest(ctx, facts.Base); err != nil {
		s := StatusFail
		if !d.Config.PullRequest.Wanted {
			s = StatusWarn
		}
		advice := "give the token pull-requests: write, or set pull-request: none"
		if refused := (*forge.PermissionError)(nil); !errors.As(err, &refused) {
			advice = "" // nobody answered, say
		}
		d.add("pull requests", s, err.Error(), advice)
		return
	}
	d.add("pull requests", StatusOK, "the token may open them, as far as the forge tells", "")
}

// checkNetwork reaches for the host of the model, without a key.
func (d *doctor) checkNetwork(ctx context.Context) {
	address, from := d.endpoint()
	switch {
	case address == "":
		d.add("network", StatusSkip, "the agent chooses the model's host itself", "")
		return
	case d.Offline:
		d.add("network", StatusSkip, "not tried (--offline)", "")
		return
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		d.add("network", StatusFail, from+" is not a server address", "it looks like https://api.example.com")
		return
	}
	host := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"} // no password, no path, no query
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 3 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, host.String(), nil)
	if err != nil {
		d.add("network", StatusFail, err.Error(), "")
		return
	}
	response, err := client.Do(request)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the address again
	}
	if err != nil {
		d.add("network", StatusFail, fmt.Sprintf("%s (%s) does not answer: %v", u.Host, from, err), "does this machine reach the network; are HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE right?")
		return
	}
	_ = response.Body.Close()
	d.add("network", StatusOK, fmt.Sprintf("%s (%s) answers", u.Host, from), "")
}

// endpoint is where the agent's model answers, as far as it is known here, and
// who says so.
func (d *doctor) endpoint() (address, from string) {
	if d.Config.Provider.BaseURL != "" {
		return d.Config.Provider.BaseURL, "base-url"
	}
	own := catalog.Of(d.Config.Agent.Name)
	if own.AddressVariable != "" && d.getenv(own.AddressVariable) != "" {
		return d.getenv(own.AddressVariable), own.AddressVariable
	}
	if d.Config.Provider.Name != "" || len(d.Config.Agent.Command) > 0 || d.elsewhere() {
		return "", ""
	}
	return own.Address, cmp.Or(d.Config.Agent.Name, "agent")
}

// elsewhere says that a variable sends claude to a cloud, whose host depends on a
// region.
func (d *doctor) elsewhere() bool {
	return d.Config.Agent.Name == "claude" && (d.getenv("CLAUDE_CODE_USE_BEDROCK") != "" || d.getenv("CLAUDE_CODE_USE_VERTEX") != "")
}
