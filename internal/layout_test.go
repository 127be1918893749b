// Package internal_test holds the import table of the packages.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/catalog"
)

const module = "github.com/org/ralph-action/internal/"

// rowNumber is that of a row of the conformance list.
var rowNumber = regexp.MustCompile(`\b00[0-9]-[0-9]{2}\b`)

// packages lists what each package may import of ours, both by the path below internal.
// Draw a new arrow here, with its reason, in the commit that needs it, or don't draw
// it.
var packages = map[string]struct {
	may []string
	why string
}{
	"ralph":                 {nil, "the domain knows nobody"},
	"lib/secret":            {nil, "everybody holds secrets"},
	"run/rundir":            {[]string{"lib/atomicfile"}, "files of ours in the workspace, for whoever writes one"},
	"run/stepdir":           {[]string{"lib/atomicfile", "lib/rmtree", "sandbox/proc"}, "what a step on the runner itself leaves for its post part, and how that is ended"},
	"run/lastrun":           {[]string{"ralph", "lib/atomicfile", "run/rundir"}, "what is known of the last run in a directory, for the commands that ask"},
	"tasks/taskdir":         {[]string{"lib/atomicfile"}, "a task folder's signals and message bus; no domain in it"},
	"sandbox/capabilities":  {nil, "which rights of root a child keeps; no domain in it"},
	"sandbox/confine":       {[]string{"sandbox/capabilities", "sandbox/confine/probe"}, "what a child may touch; no domain in it"},
	"sandbox/confine/probe": {nil, "a child that tries the network; it imports as little as it can"},
	"sandbox/toolchain":     {nil, "which folders and variables the tools of a machine need; pure but for what exists"},
	"sandbox/hosts":         {nil, "which addresses a pattern means; pure, for configuration, agents and the proxy"},
	"sandbox/egress":        {[]string{"sandbox/hosts", "lib/secret"}, "the only way to the network: a proxy, and a key proxy that adds a key; no domain in it"},
	"sandbox/wire":          {nil, "what ralph's own processes tell each other; no domain in it"},
	"sandbox/namespace":     {[]string{"lib/rmtree", "sandbox/capabilities", "sandbox/wire"}, "runs as root, for a plain user, what makes namespaces; no domain in it"},
	"sandbox/proc":          {[]string{"sandbox/confine", "sandbox/namespace", "sandbox/wire"}, "starts children in the sandbox"},
	"lib/nearest":           {nil, "which name was meant by a misspelled one; pure"},
	"lib/glob":              {nil, "patterns of paths, and whether two could mean the same; pure"},
	"lib/rmtree":            {nil, "folders that others wrote in are removed, however deep"},
	"config/problem":        {[]string{"lib/nearest", "lib/printable"}, "everything that is wrong is told at once, without secrets; pure"},
	"config/shellfile":      {[]string{"config/problem"}, "lines of KEY=VALUE as a shell reads them; pure"},
	"config/input":          {[]string{"ralph"}, "what an input is, and how a value is read within its bounds; pure"},
	"config/file":           {[]string{"config/input", "config/problem", "config/shellfile", "lib/nearest", "lib/printable"}, "files of three formats become values of inputs"},
	"config/textfile":       {nil, "files that a configuration names, within the workspace"},
	"config":                {[]string{"config/file", "config/input", "config/problem", "config/textfile", "lib/printable", "fanout", "ralph", "lib/secret", "sandbox/hosts", "sandbox/toolchain", "agent/catalog"}, "inputs become policies, secrets, lists of hosts and of caches"},
	"run/guard":             {[]string{"ralph", "sandbox/proc", "lib/secret"}, "a command becomes a verdict"},
	"repo/scm":              {[]string{"ralph", "sandbox/proc", "lib/secret"}, "the team's own commit commands"},
	"repo":                  {[]string{"ralph", "lib/secret", "lib/atomicfile", "repo/branchname", "repo/files", "repo/gitconfig", "repo/gitdir", "repo/history", "repo/index", "repo/inspection", "repo/killed", "repo/lfs", "repo/objects", "repo/overlay", "repo/patch", "repo/printable", "repo/publish", "repo/remote", "repo/signing", "repo/store", "repo/watch", "repo/worktree"}, "a tree becomes commits"},
	"forge":                 {[]string{"ralph", "forge/api", "forge/gitdata", "forge/joblog", "lib/secret"}, "a record becomes a pull request"},
	"forge/api":             {[]string{"lib/secret"}, "requests to the forge, its limits and refusals; knows nothing of what is asked"},
	"forge/gitdata":         {[]string{"forge/api"}, "commits that the forge makes and signs"},
	"forge/joblog":          {nil, "what matters of the log of a job; pure"},
	"report":                {[]string{"ralph", "report/doc", "report/memory", "report/transcript", "report/wave", "report/words"}, "a record becomes documents"},
	"report/doc":            {[]string{"ralph"}, "what documents are made of; nothing of runs in it"},
	"report/words":          {[]string{"ralph", "report/doc"}, "an iteration, a number and a time in words"},
	"report/memory":         {[]string{"ralph", "report/doc", "report/words"}, "what one run writes for the next"},
	"report/transcript":     {[]string{"ralph", "report/doc"}, "what is kept of the iterations for the page; pure"},
	"report/wave":           {[]string{"ralph", "report/doc", "report/words"}, "what became of a wave, in sections of a document"},
	"report/logs":           {[]string{"ralph", "report/doc", "report/words"}, "what a run says while it goes on"},
	"actions":               {[]string{"ralph", "lib/secret", "actions/trigger"}, "a record becomes outputs, the event file an event"},
	"tasks/document":        {nil, "JSON that is edited in place; pure"},
	"tasks":                 {[]string{"ralph", "lib/atomicfile", "lib/glob", "lib/nearest", "lib/printable", "tasks/document"}, "a task list: its schema, its transitions, its story to do next"},
	"fanout":                {[]string{"ralph", "tasks", "lib/glob", "lib/lazyregexp", "lib/printable"}, "a task list over many jobs: plan, lanes, waves; pure"},
	"actions/artifact":      {[]string{"lib/printable", "lib/secret"}, "uploads artifacts of the workflow run; knows nothing of what is in them"},
	"actions/trigger":       {[]string{"ralph"}, "what started the run, and what of it becomes a prompt; pure"},
	"agent/hook":            {[]string{"ralph", "agent/hook/shellguard", "lib/printable"}, "answers to the agent CLI's hooks"},
	"agent/hook/shellguard": {[]string{"lib/printable"}, "which shell commands of an agent are refused; pure"},
	"inspect/content":       {[]string{"ralph", "agent/catalog"}, "what of a change may be published: paths, limits, claims; pure"},
	"inspect/testintegrity": {[]string{"ralph"}, "what of a change makes tests and checks say less; pure"},
	"inspect/secretscan":    {[]string{"ralph", "lib/secret"}, "what must not be published, found in it; pure"},
	"cli/starter":           {[]string{"agent/catalog", "lib/atomicfile", "run/rundir"}, "what ralph init proposes and writes"},
	"testing/lanes":         {[]string{"config", "fanout", "inspect", "inspect/content", "ralph", "repo/bundle", "repo/history", "repo/integrate", "repo/lfs", "repo/objects", "repo/publish", "repo/store", "run/integration", "tasks"}, "what lanes hand over, honest and not, for tests and measurements"},
	"testing/openapi":       {nil, "what tests check against GitHub's description; imported by tests only"},
	"cli/manual":            {[]string{"ralph"}, "completion and man page, from the command line's own model"},
	"cli/demo":              {[]string{"cli/demo/gitserver", "sandbox/proc"}, "a forge and an agent for `ralph demo`; knows nothing of the pipeline"},
	"cli/demo/gitserver":    {nil, "bare repositories over HTTP, for the demo and the tests' GitHub"},

	"repo/printable":   {nil, "foreign text in errors of the git side"},
	"repo/lines":       {nil, "compares and merges texts; pure"},
	"repo/files":       {[]string{"lib/atomicfile"}, "files the agent may have swapped for links and pipes"},
	"repo/gitconfig":   {[]string{"repo/files"}, "configuration files and the credentials in them"},
	"repo/gitdir":      {[]string{"repo/files", "repo/gitconfig"}, "where a work tree keeps its git directory, and what it was cloned from"},
	"repo/credentials": {[]string{"lib/atomicfile", "repo/files", "repo/gitconfig", "repo/gitdir"}, "what the agent must not read or plant in a git directory; uses no git"},
	"repo/remote":      {[]string{"lib/secret", "repo/printable", "repo/store"}, "git's smart HTTP with one repository, and what a server's refusals mean"},
	"repo/lfs":         {[]string{"repo/files", "repo/gitconfig", "repo/index", "repo/printable", "repo/remote", "repo/store", "repo/worktree"}, "Git LFS: pointers, objects, the batch API, and whether git can use it here"},
	"repo/index":       {nil, "git's index; pure"},
	"repo/worktree":    {[]string{"repo/files", "repo/gitconfig", "repo/gitdir", "repo/index", "repo/printable", "repo/store"}, "git in the sandbox, and what it shows of the work tree"},
	"repo/objects":     {[]string{"repo/lines", "repo/remote", "repo/store", "repo/worktree"}, "objects from the work tree, the store or a server; merges trees"},
	"repo/history":     {[]string{"repo/objects", "repo/remote", "repo/store", "repo/worktree"}, "what a branch has that its base lacks; knows no run"},
	"repo/integrate":   {[]string{"ralph", "repo/inspection", "repo/lfs", "repo/lines", "repo/objects", "repo/patch", "repo/printable", "repo/publish", "repo/store", "repo/worktree"}, "stories of others onto the branch, in the store; knows no list"},
	"repo/patch":       {[]string{"repo/lines", "repo/store"}, "trees become a patch; pure"},
	"repo/overlay":     {[]string{"repo/files", "repo/printable", "repo/store"}, "other versions of files in a work tree, for a while; uses no git"},
	"repo/branchname":  {[]string{"repo/printable"}, "names of work branches; pure"},
	"repo/killed":      {[]string{"repo/branchname", "repo/files", "repo/gitdir", "repo/printable", "repo/store"}, "what a killed run leaves for the next; uses no git"},
	"repo/inspection":  {[]string{"ralph", "repo/lfs", "repo/objects", "repo/printable", "repo/store"}, "describes what would be published, for those who judge it"},
	"repo/publish":     {[]string{"ralph", "repo/bundle", "repo/history", "repo/inspection", "repo/lfs", "repo/printable", "repo/remote", "repo/signing", "repo/store"}, "brings the branch to its server"},
	"repo/signing":     {[]string{"repo/printable", "repo/remote", "repo/store"}, "commits that the forge makes and signs"},
	"repo/watch":       {[]string{"ralph", "repo/printable", "repo/worktree"}, "whether a work tree changes; publishes nothing"},
	"repo/repotest":    {[]string{"repo/worktree"}, "git for the tests of the git side; tests alone import it"},
	"repo/bundle":      {[]string{"ralph", "repo/printable", "repo/store"}, "commits in a file, for who has those below them"},
	"repo/store":       {[]string{"repo/printable"}, "objects, trees and packs, out of the agent's reach; knows no branch"},

	"agent":            {[]string{"ralph", "sandbox/hosts", "sandbox/proc", "agent/*", "agent/catalog", "agent/driver", "agent/filter"}, "runs the CLI that is asked for; the one place that knows all of them"},
	"agent/catalog":    {nil, "what is known of each CLI, as data that everything may read"},
	"agent/jsonscan":   {nil, "JSON as it comes; nothing of agents in it"},
	"agent/driver":     {[]string{"ralph", "sandbox/proc", "agent/catalog", "agent/jsonscan"}, "what a CLI's package implements and shares; it knows none of them"},
	"agent/*":          {[]string{"ralph", "agent/catalog", "agent/driver", "agent/jsonscan", "agent/streamjson"}, "one CLI; none imports another's"},
	"agent/streamjson": {[]string{"ralph", "agent/driver", "agent/jsonscan"}, "the stream that claude and amp have in common"},
	"agent/filter":     {[]string{"ralph", "agent/driver", "agent/jsonscan"}, "jq expressions on an agent's output"},
	"agent/custom":     {[]string{"ralph", "agent/driver", "agent/filter", "agent/jsonscan", "agent/text"}, "a CLI described by filters; its words are plain text"},
	"agent/install":    {[]string{"sandbox/proc"}, "npm runs in the sandbox; no domain in it"},
	"agent/prompt":     {[]string{"ralph", "lib/secret"}, "feedback is built from verdicts"},
	"agent/price":      {[]string{"ralph"}, "tokens of a model become an estimate of their cost"},
	"agent/agenttest":  {[]string{"ralph", "sandbox/proc", "agent/driver"}, "recordings and a stand-in for a child; tests alone import it"},

	"testing/barerepo":    {[]string{"cli/demo/gitserver"}, "the repositories of the tests' GitHub, served and checked out with few processes; tests alone import it"},
	"testing/fakegithub":  {[]string{"cli/demo/gitserver", "testing/barerepo", "testing/openapi"}, "GitHub for tests, on the demo's git and checked by GitHub's own description; tests alone import it"},
	"testing/fakeresults": {nil, "the runner's results service for tests; tests alone import it"},
	"testing/actionrun":   {[]string{"cli/demo/gitserver", "testing/barerepo", "testing/fakegithub"}, "runs of the action on the tests' GitHub; tests alone import it"},

	"inspect": {[]string{"config", "inspect/content", "inspect/secretscan", "ralph", "repo/inspection", "repo/objects", "lib/secret", "inspect/testintegrity"}, "judges what is about to be published"},
	"run": {[]string{
		"agent", "agent/catalog", "config", "config/problem", "inspect/content", "sandbox/dockersandbox", "sandbox/namespace", "sandbox/toolchain", "forge", "run/admission", "run/caches", "run/checks", "run/commands", "run/crew", "run/doctor", "run/left", "run/stash", "run/session", "run/supervised", "run/guard", "run/installation", "run/network", "run/setup", "agent/hook", "run/credentials", "run/lane", "fanout", "actions/artifact", "run/lastrun", "inspect", "agent/install", "agent/price", "sandbox/proc", "agent/prompt",
		"ralph", "repo", "repo/integrate", "run/integration", "repo/branchname", "repo/gitdir", "repo/inspection", "repo/killed", "repo/publish", "repo/watch", "repo/worktree", "report", "report/logs", "report/memory", "report/transcript", "run/rundir", "run/stepdir", "run/proposal", "actions", "run/stories", "sandbox/confine", "repo/scm", "lib/secret", "tasks/taskdir", "tasks", "actions/trigger",
	}, "one run, from what was asked for to what was published: it wires the others"},
	"run/caches":       {[]string{"config", "sandbox/confine", "sandbox/proc", "sandbox/toolchain"}, "caches of the machine are lent to the sandbox; knows no run"},
	"run/commands":     {[]string{"config", "ralph", "run/guard", "sandbox/proc", "sandbox/toolchain"}, "which programs the sandbox cannot start, for a run and for doctor"},
	"run/installation": {[]string{"agent", "agent/install", "config", "lib/secret", "ralph", "run/network", "sandbox/confine", "sandbox/namespace", "sandbox/proc"}, "the agents' CLIs come from npm beside what the run does"},
	"run/network":      {[]string{"agent", "config", "lib/secret", "ralph", "run/credentials", "sandbox/confine", "sandbox/egress", "sandbox/hosts", "sandbox/proc"}, "joins the hosts of agents, languages and forge to what the sandbox reaches"},
	"run/setup":        {[]string{"actions", "lib/secret", "run/network", "sandbox/confine", "sandbox/proc"}, "setup commands, and what they export for those after them"},
	"run/doctor":       {[]string{"actions", "agent", "agent/catalog", "config", "config/problem", "forge", "ralph", "repo/gitdir", "run/caches", "run/commands", "run/crew", "run/installation", "run/network", "sandbox/confine", "sandbox/dockersandbox", "sandbox/proc", "sandbox/toolchain", "tasks"}, "looks at what a run would need; what that is, it is told"},
	"run/admission":    {[]string{"actions", "actions/trigger", "config", "forge"}, "whether those who caused a run may; asks the forge, changes nothing"},
	"run/checks":       {[]string{"forge", "ralph"}, "the forge's checks become a verdict"},
	"run/left":         {[]string{"ralph", "repo/killed", "report", "run/rundir", "run/stash", "run/stepdir"}, "what a step notes down in case that it is killed, and how it is found"},
	"run/stash":        {[]string{"repo/credentials"}, "git settings that hold credentials, out of the agent's reach for a run"},
	"run/crew":         {[]string{"agent", "config", "ralph"}, "who works, takes over and reviews; how they start, it is told"},
	"run/session":      {[]string{"agent/hook", "agent/prompt", "config", "ralph", "run/crew"}, "a session that is kept going, by its hook or by a prompt"},
	"run/supervised":   {[]string{"agent", "agent/driver", "ralph", "tasks/taskdir"}, "an agent that tells in a task folder how it stands"},
	"run/proposal":     {[]string{"ralph", "repo/publish", "report"}, "tells people of a run that goes on; what is written, and where, it is handed"},
	"run/integration":  {[]string{"fanout", "lib/printable", "ralph", "repo/bundle", "repo/integrate", "repo/objects", "report/memory", "run/stories", "tasks"}, "what the owner of a list makes of what lanes hand over"},
	"run/stories":      {[]string{"agent/prompt", "ralph", "tasks"}, "joins a task list to a run"},
	"run/lane":         {[]string{"actions/artifact", "fanout", "ralph", "repo/bundle", "repo/files", "repo/inspection", "repo/publish", "repo/store"}, "what a run hands over for another job to integrate: commits, their result, artifacts"},
	"run/credentials":  {[]string{"config", "lib/secret"}, "the values of configuration and environment that must never be shown"},
	"cli/matrix":       {[]string{"fanout", "ralph", "tasks"}, "which stories get a job of their own; pure"},
	"cli/usergit":      {[]string{"actions", "sandbox/proc"}, "git as the user runs it, in their repository"},
	"cli/origin":       {[]string{"cli/matrix", "cli/usergit", "fanout", "ralph", "report/memory", "tasks"}, "branches of a task list as they were fetched"},
	"cli/parallel":     {[]string{"cli/flagset", "cli/usergit", "config", "fanout", "lib/printable", "lib/rmtree", "ralph", "repo/files", "repo/gitdir", "report/words", "run", "run/lastrun", "run/rundir", "sandbox/proc", "tasks"}, "waves of lanes on one machine: a lane is a process, an integration a run"},
	"cli/build":        {nil, "what a binary knows of itself"},
	"cli/flagset":      {[]string{"config", "config/input"}, "inputs become flags"},
	"cli/resume":       {[]string{"cli/flagset", "config", "lib/printable", "ralph", "repo/gitdir", "report/words", "run/lastrun"}, "the last run's command and limits become the next one's"},
	"cli/opening":      {[]string{"agent", "agent/catalog", "agent/claude", "config", "ralph", "repo/files", "run", "run/rundir"}, "what is unsafe or left aside, before a run"},
	"cli/output":       {[]string{"config", "fanout", "ralph", "report", "report/logs", "report/words", "run", "run/doctor", "run/lastrun", "actions", "lib/secret"}, "prints a run"},
	"cli": {[]string{
		"cli/build", "cli/flagset", "cli/opening", "cli/output", "cli/parallel",
		"agent", "lib/atomicfile", "lib/nearest", "config", "config/problem", "run/credentials", "cli/demo", "agent/hook", "agent/hook/shellguard", "cli/manual", "cli/resume", "sandbox/proc", "ralph", "repo/gitdir", "report/logs", "run", "run/admission", "run/doctor", "run/lastrun", "run/left", "run/rundir", "run/session", "run/stepdir", "actions", "sandbox/confine", "lib/secret", "cli/starter", "tasks", "fanout", "cli/matrix", "cli/origin", "cli/usergit",
	}, "commands, flags and what is printed"},

	"lib/atomicfile": {nil, "one way of replacing a file, for whoever must not leave half of one, or follow a link"},

	"lib/printable": {nil, "foreign text on one line of ours"},

	"lib/lazyregexp": {nil, "expressions that most starts of the program do not need"},

	"sandbox/dockersandbox": {[]string{"sandbox/proc", "lib/atomicfile"}, "an agent's pkg in docker's own virtual machine; no domain in it"},
}

// everybody may import these.
var everybody = []string{"lib/lazyregexp"}

// eager is an expression that every start of the program compiles, as its own
// supervisor and as an agent's hook too.
var eager = regexp.MustCompile(`(?m)^(var |\t)\w+ *= regexp\.MustCompile`)

// owners lists the packages that only one pkg, or those named, may import.
var owners = map[string]struct{ pkg, why string }{
	"os/exec":                     {"sandbox/namespace, sandbox/proc", "a child is started and ended in one place; sudo where its namespaces are"},
	"gopkg.in/yaml.v3":            {"config, config/file", "one reader of configuration"},
	"github.com/go-git/go-git/v5": {"repo, repo/branchname, repo/bundle, repo/history, repo/inspection, repo/integrate, repo/lfs, repo/objects, repo/overlay, repo/patch, repo/publish, repo/remote, repo/signing, repo/store, repo/worktree, run/lane, testing/lanes", "one owner of the branch"},
	"github.com/go-git/go-git/v5/plumbing/object": {"", "it brings OpenPGP, 1.4 MB of the binary: repo/store reads commits"},
	"github.com/google/go-github/v60/github":      {"forge, forge/gitdata", "one client of the forge"},
	"github.com/getkin/kin-openapi":               {"testing/openapi", "a library of tests, kept out of the binary"},
	"github.com/yuin/goldmark":                    {"actions/trigger, report/doc", "one reader of Markdown: what people ask, and what agents say; tests render with it what we publish"},
	"github.com/itchyny/gojq":                     {"agent/filter", "one interpreter of users' expressions"},
	"github.com/zricethezav/gitleaks/v8":          {"", "cmd/gen writes its rules into inspect/secretscan; the binary does without its 1.5 MB"},
	"github.com/pelletier/go-toml/v2":             {"", "cmd/gen reads the rules of gitleaks with it; configuration is YAML"},
	"github.com/google/go-containerregistry":      {"", "cmd/release writes images with it; nothing of it is in the binary"},
	"github.com/sethvargo/go-githubactions":       {"actions", "one voice to the runner"},
	"mvdan.cc/sh/v3":                              {"agent/hook/shellguard", "one reader of shell commands; configuration is no script"},
}

// testSupport lists the packages for tests: what is theirs alone is not in the
// binary, and may start git as a test may.
var testSupport = []string{"testing/barerepo", "testing/fakegithub", "testing/fakeresults", "testing/actionrun", "testing/openapi", "agent/agenttest", "repo/repotest"}

// agents are the packages of CLIs, for which the table says "agent/*", unless it names one.
func agents() []string {
	var list []string
	for _, name := range catalog.Names() {
		list = append(list, "agent/"+name)
	}
	return list
}

func TestProgramsHaveNoTestSupport(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../cmd", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			pkg, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if ours && slices.Contains(testSupport, pkg) {
				t.Errorf("%s imports %s, which is for tests", path, pkg)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if strings.Contains("/"+pkg+"/", "/testdata/") {
			return nil
		}
		seen[pkg] = true
		rule, ok := packages[pkg]
		if !ok && slices.Contains(agents(), pkg) {
			rule, ok = packages["agent/*"], true
		}
		if !ok {
			t.Errorf("%s: no package %q in the table", path, pkg)
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if row := rowNumber.Find(source); row != nil {
			t.Errorf("%s names row %s: rows of the conformance list stand in tests", path, row)
		}
		if re := eager.Find(source); re != nil && !slices.Contains(testSupport, pkg) {
			t.Errorf("%s has %q: lazyregexp compiles what is needed", path, re)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported := strings.Trim(spec.Path.Value, `"`)
			may := slices.Concat(rule.may, everybody)
			if slices.Contains(may, "agent/*") {
				may = append(agents(), may...)
			}
			if ours, found := strings.CutPrefix(imported, module); found && ours != pkg && !slices.Contains(may, ours) {
				t.Errorf("%s imports %s, but %s may import %v: %s", path, ours, pkg, rule.may, rule.why)
			}
			if ours, found := strings.CutPrefix(imported, module); found && strings.HasPrefix(pkg, ours+"/") {
				t.Errorf("%s imports %s: a package does not import the one above it", path, ours)
			}
			for owned, by := range owners {
				if (imported == owned || strings.HasPrefix(imported, owned+"/")) && !slices.Contains(strings.Split(by.pkg, ", "), pkg) && !slices.Contains(testSupport, pkg) {
					t.Errorf("%s imports %s, which only %s may: %s", path, imported, by.pkg, by.why)
				}
			}
			if pkg == "ralph" && strings.Contains(imported, ".") {
				t.Errorf("%s imports %s: the domain is std only", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range packages {
		if !seen[pkg] && pkg != "agent/*" {
			t.Errorf("the table names a pkg %q that does not exist", pkg)
		}
	}
}
