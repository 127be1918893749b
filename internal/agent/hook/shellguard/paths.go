package shellguard

import (
	"path"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// place says what a path is, as far as deleting it goes.
type place int

const (
	elsewhere place = iota
	system
	home
	workspace
)

// systemFolders are those whose loss makes the machine useless.
const systemFolders = " / /bin /boot /dev /etc /lib /lib32 /lib64 /mnt /opt /proc /run /sbin /srv /sys /usr /usr/bin /usr/lib /usr/local /usr/sbin /var /var/lib " +
	"/Applications /Library /System /Volumes "

// privateFolders are below a home and hold what cannot be made again.
const privateFolders = " .ssh .gnupg .aws .kube .config .docker .password-store Documents Desktop "

// place classifies a path given to a command that runs in cwd.
func (w *walk) place(text, cwd string) (place, string) {
	// All of a directory's content is the directory.
	for {
		dir, last := path.Split(text)
		if last == "" || last == "/" || strings.Trim(last, "*?.[]!{},") != "" || !strings.ContainsAny(last, "*?") {
			break
		}
		if text = dir; text == "" {
			text = "."
			break
		}
		if text != "/" {
			text = strings.TrimRight(text, "/")
		}
		if text == "" {
			text = "/"
		}
	}
	full := w.resolve(text, cwd)
	if full == "" {
		return elsewhere, ""
	}
	if strings.Contains(systemFolders, " "+full+" ") {
		return system, full
	}
	own := w.guard.home()
	parent, name := path.Split(full)
	parent = path.Clean(parent)
	switch {
	case full == own || full == "/root" || full == "/home" || full == "/Users" || strings.HasPrefix(own, full+"/"):
		if full == w.guard.Workspace {
			return workspace, full
		}
		return home, full
	case parent == "/home" || parent == "/Users":
		return home, full
	case parent == own && strings.Contains(privateFolders, " "+name+" "):
		return home, full
	}
	ws := w.guard.Workspace
	switch {
	case ws != "" && (full == ws || full == ws+"/.git" || strings.HasPrefix(ws, full+"/")):
		return workspace, full
	case ws == "" && name == ".git" && parent == w.start:
		return workspace, full
	}
	return elsewhere, full
}

// credential matches files that hold keys and passwords, by their last parts.
// Public keys, examples and lists of known hosts are none.
var credential = lazyregexp.New(`(?i)(^|/)(` +
	`\.ssh/?|\.ssh/(id_[a-z0-9_]+|identity|[a-z0-9_-]+_(rsa|ed25519|ecdsa))|id_(rsa|dsa|ecdsa|ed25519)|` +
	`\.gnupg(/.*)?|\.aws/?|\.aws/(credentials|config|sso/.*|cli/cache/.*)|` +
	`\.netrc|_netrc|\.git-credentials|\.npmrc|\.yarnrc\.yml|\.pypirc|\.pgpass|\.my\.cnf|\.dockercfg|\.docker/config\.json|` +
	`\.kube/config|kubeconfig|\.config/gh/hosts\.yml|\.config/gcloud/.*|application_default_credentials\.json|` +
	`\.claude/\.credentials\.json|\.claude\.json|\.codex/auth\.json|\.gemini/oauth_creds\.json|\.config/github-copilot/.*|` +
	`\.azure/.*|\.terraform\.d/credentials.*|\.cargo/credentials(\.toml)?|\.vault-token|` +
	`\.env(\.(local|production|prod|development|dev|staging|secret|secrets))?|\.envrc|` +
	`(service[-_]account|credentials|secrets)\.(json|ya?ml|toml)|[^/]+\.(pem|p12|pfx|keystore|jks)|[^/]*(private|secret)[^/]*\.key|` +
	`etc/(shadow|gshadow|sudoers)|proc/[^/]+/environ` + `)$`)

// isCredential reports whether the file named by text holds secrets. A trailing star
// stands for a file.
func isCredential(text string) bool {
	text = strings.TrimPrefix(text, "@")
	if strings.HasSuffix(text, ".pub") || len(text) > 4096 || strings.ContainsAny(text, " \n") {
		return false
	}
	if base := strings.TrimSuffix(text, "*"); base != text {
		text = base
		if strings.HasSuffix(text, "/id_") {
			text += "rsa"
		}
	}
	return credential.MatchString(text)
}

// secretNames matches variables that hold a secret, by the end of their name.
var secretNames = lazyregexp.New(`(?i)(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIALS?|PRIVATE_KEY|API_?KEY|ACCESS_KEY|SECRET_KEY|ACCESS_KEY_ID|AUTH_KEY)$|^(GITHUB|GH|NPM|ANTHROPIC|OPENAI|CODEX)_[A-Z_]*(TOKEN|KEY)$`)

// secretVariable is the name of a variable in text that holds a secret.
func secretVariable(text string) string {
	parts := strings.Split(text, mark)
	for i := 1; i < len(parts); i += 2 {
		if secretNames.MatchString(parts[i]) {
			return parts[i]
		}
	}
	return ""
}

// device matches what a disk, a partition or memory is reached by.
var device = lazyregexp.New(`^/dev/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|dm-\d|md\d|mapper/|k?mem$|disk/)`)
