package gitdir

import (
	"net/url"
	"os"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/repo/gitconfig"
)

// scpAddress is git's short form of an SSH address: user@host:path.
var scpAddress = lazyregexp.New(`^(?:[^@/:]+@)?([^/:]+):([^/].*)$`)

// nameOnServer is the name of an owner or of a repository: neither a step in a path
// nor anything else that an address has a meaning for.
var nameOnServer = lazyregexp.New(`^(?:[A-Za-z0-9_-]|\.+[A-Za-z0-9_-])[A-Za-z0-9._-]*$`)

// Origin is the repository, as owner/name, that the work tree above dir was cloned
// from, when it lies on this server; empty: it does not, or nothing is known. It uses
// no git program. The answer is foreign text, of the form owner/name.
func Origin(dir, server string) string {
	at, err := Locate(dir)
	if err != nil {
		return ""
	}
	root, err := os.OpenRoot(at.Common)
	if err != nil {
		return ""
	}
	defer root.Close()
	c, err := gitconfig.Read(root, "config")
	if err != nil {
		return "" // Open says so
	}
	for _, v := range c.Vars {
		if v.Section == "remote" && v.Subsection == "origin" && v.Key == "url" {
			return onServer(v.Value, server)
		}
	}
	return ""
}

// onServer is owner/name of a clone address on a server; empty if it is none.
func onServer(address, server string) string {
	home, err := url.Parse(server)
	if err != nil {
		return ""
	}
	var host, path string
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		host, path = u.Hostname(), u.Path
		if u.Scheme == "http" || u.Scheme == "https" {
			if u.Host != home.Host {
				return ""
			}
			rest, ok := strings.CutPrefix(path, strings.TrimSuffix(home.Path, "/")+"/")
			if !ok {
				return ""
			}
			path = rest
		}
	} else if m := scpAddress.FindStringSubmatch(address); m != nil {
		host, path = m[1], m[2]
	}
	if !strings.EqualFold(host, home.Hostname()) {
		return ""
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	owner, name, ok := strings.Cut(path, "/")
	if !ok || !nameOnServer.MatchString(owner) || !nameOnServer.MatchString(name) {
		return ""
	}
	return path
}
