// Package deps holds the module list while the rooms are being built.
package deps

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/creack/pty"
	_ "github.com/go-git/go-git/v5"
	_ "github.com/go-git/go-git/v5/plumbing/transport/http"
	_ "github.com/google/go-github/v60/github"
	_ "github.com/google/shlex"
	_ "github.com/landlock-lsm/go-landlock/landlock"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/sethvargo/go-githubactions"
	_ "github.com/tidwall/gjson"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "gopkg.in/yaml.v3"
)
