package shellguard

import (
	"path"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// gitOf is a git command without git and its own options; its name is the verb.
// Anything else has none.
func gitOf(c call) call {
	if c.name != "git" {
		return call{}
	}
	args := c.args
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace"}, args[0].text) && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return call{}
	}
	return call{name: args[0].text, args: args[1:]}
}

func isMain(ref string) bool {
	ref = strings.TrimPrefix(ref, "refs/heads/")
	return slices.Contains([]string{"main", "master", "develop", "trunk", "production"}, ref)
}

func losesHistory(s scene) string {
	g := gitOf(s.call)
	all := g.operands("")
	switch g.name {
	case "push":
		if g.has('n', "--dry-run") {
			return ""
		}
		lease := slices.ContainsFunc(g.args, func(a arg) bool { return strings.HasPrefix(a.text, "--force-with-lease") })
		for i, t := range all {
			_, to, _ := strings.Cut(t, ":")
			switch {
			case i == 0:
			case strings.HasPrefix(t, "+"):
				return "overwrites a branch on the remote"
			case strings.HasPrefix(t, ":") && isMain(to), isMain(t) && g.has('d', "--delete"):
				return "deletes the main branch on the remote"
			case lease && (isMain(t) || isMain(to)):
				return "overwrites the main branch on the remote"
			}
		}
		if g.has('f', "--force") || g.has(0, "--mirror") {
			return "overwrites what others have pushed"
		}
	case "branch":
		if (g.has('D', "") || g.has('d', "--delete") && g.has(0, "--force")) && slices.ContainsFunc(all, isMain) {
			return "deletes the main branch"
		}
	case "clean":
		if g.has('x', "") && g.has('f', "--force") && !g.has('n', "--dry-run") && len(all) == 0 {
			return "deletes every ignored file, among them local settings that no commit holds"
		}
	}
	return ""
}

// elsewhereURL reports whether a git remote is an address and no name, and not this
// machine.
func elsewhereURL(t string) bool {
	if isLocal(t) || strings.HasPrefix(t, "file://") || path.IsAbs(t) || strings.HasPrefix(t, ".") {
		return false
	}
	return strings.Contains(t, "://") || strings.Contains(t, "@") && strings.Contains(t, ":")
}

func sendsRepository(s scene) string {
	if g := gitOf(s.call); g.name == "push" {
		all := g.operands("")
		for i, a := range g.args {
			if repo, ok := strings.CutPrefix(a.text, "--repo="); ok {
				all = append([]string{repo}, all...)
			} else if a.text == "--repo" && i+1 < len(g.args) {
				all = append([]string{g.args[i+1].text}, all...)
			}
		}
		if len(all) > 0 && elsewhereURL(all[0]) {
			return "pushes to an address that is not one of this repository's remotes"
		}
		if len(all) > 0 && s.walk.remotes[all[0]] || len(all) == 0 && s.walk.remotes["origin"] {
			return "pushes to a remote that the same command has just set"
		}
	}
	all := s.operands("-i -F -o -P -e --rsh --exclude -p -l -c -J")
	switch s.name {
	case "scp", "rsync", "rclone":
		if len(all) < 2 || !strings.Contains(all[len(all)-1], ":") || isLocal(all[len(all)-1]) {
			return ""
		}
		if slices.ContainsFunc(all[:len(all)-1], s.wholeRepository) {
			return "copies the whole repository to another machine"
		}
	case "gh":
		if len(all) > 1 && all[0] == "repo" && all[1] == "create" && s.has(0, "--push") {
			return "publishes the repository under a new name"
		}
	}
	if !isNetwork(s.name) || s.local() {
		return ""
	}
	if s.earlier(func(c call) bool {
		return slices.Contains([]string{"archive", "bundle", "format-patch"}, gitOf(c).name)
	}) {
		return "sends the repository's content to another machine"
	}
	if s.earlier(func(c call) bool {
		return c.is("tar", "zip") && slices.ContainsFunc(c.operands("-C --directory --exclude -f"), s.wholeRepository)
	}) {
		return "sends the whole repository to another machine"
	}
	return ""
}

// wholeRepository reports whether a source is the workspace or its history.
func (s scene) wholeRepository(text string) bool {
	at, full := s.walk.place(text, s.cwd)
	return at != elsewhere || full != "" && (path.Base(full) == ".git" || s.walk.guard.Workspace == "" && full == s.walk.start)
}

// remoteHost matches how a client names the host of its database.
var remoteHost = lazyregexp.New(`(?i)^(?:(?:postgres(?:ql)?|mysql|redis|rediss|mongodb(?:\+srv)?)://|-h|--host=)`)

// dropping matches SQL that drops what holds all tables.
var dropping = lazyregexp.New(`(?i)\b(drop\s+(database|schema)|truncate\s+table|flushall|dropdatabase\(\))`)

// wholeRepo matches the forge's own address of all that a repository is.
var wholeRepo = lazyregexp.New(`^/?(repos/[^/]+/[^/]+|orgs/[^/]+)/?$`)

// destroysRemote finds what deletes things that other people use.
func destroysRemote(s scene) string {
	all := s.operands(valued)
	switch s.name {
	case "gh", "glab", "hub":
		for i, a := range s.args {
			del := a.text == "-XDELETE" || a.text == "--method=DELETE" || a.text == "DELETE" && i > 0 && (s.args[i-1].text == "-X" || s.args[i-1].text == "--method")
			if del && len(all) > 0 && all[0] == "api" && slices.ContainsFunc(texts(s.args), wholeRepo.MatchString) {
				return "deletes a repository or an organisation on the forge"
			}
		}
	case "aws":
		if len(all) > 1 && (strings.HasPrefix(all[1], "delete-db") || slices.Contains([]string{"terminate-instances", "delete-bucket", "delete-stack", "delete-table"}, all[1])) {
			return "deletes stored data or machines"
		}
	case "gcloud", "az", "doctl", "heroku", "flyctl", "fly", "vercel", "netlify":
		if slices.ContainsFunc(all, func(t string) bool { return t == "delete" || t == "destroy" || strings.HasSuffix(t, ":destroy") }) {
			return "deletes what runs in the cloud"
		}
	case "psql", "mysql", "mariadb", "redis-cli", "mongosh", "mongo":
		return s.dropsDatabase()
	}
	return ""
}

func (s scene) dropsDatabase() string {
	remote := false
	for i, a := range s.args {
		t := a.text
		if t == "-h" && i+1 < len(s.args) {
			t += s.args[i+1].text
		}
		host := strings.TrimPrefix(strings.TrimPrefix(t, "--host="), "-h")
		if remoteHost.MatchString(t) && host != "" && !isLocal(host) {
			remote = true
		}
	}
	if remote && (dropping.MatchString(s.input) || slices.ContainsFunc(texts(s.args), dropping.MatchString)) {
		return "drops a database on another machine"
	}
	return ""
}
