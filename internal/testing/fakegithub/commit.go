package fakegithub

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

type personJSON struct{ Name, Email, Date string }

type newCommit struct {
	Message           string
	Tree              string
	Parents           []string
	Author, Committer *personJSON
	Signature         string
}

// createCommit signs what an installation commits in its own name: GitHub
// verifies a commit of a bot that names neither author nor committer.
func (c *call) createCommit(in newCommit) reply {
	switch {
	case in.Message == "":
		return invalid("Commit", "message", "missing_field")
	case !c.repo.is(in.Tree, "tree"):
		return unprocessable("Tree SHA does not exist")
	case slices.ContainsFunc(in.Parents, func(p string) bool { return !c.repo.is(p, "commit") }):
		return unprocessable("Parent SHA does not exist or is not a commit object")
	}
	me := c.f.userLocked(c.token.Login)
	date := fmt.Sprintf("%d +0000", time.Now().Unix())
	mine := person{me.login, fmt.Sprintf("%d+%s@users.noreply.github.com", me.id, me.login), date}
	commit := commitObject{tree: in.Tree, parents: in.Parents, message: in.Message, author: mine, committer: mine, signature: in.Signature}
	var err error
	if in.Author != nil {
		commit.author, err = in.Author.person(date)
		commit.committer = commit.author
	}
	if in.Committer != nil && err == nil {
		commit.committer, err = in.Committer.person(date)
	}
	if err != nil {
		return unprocessable("Invalid request.\n\n" + err.Error())
	}
	if c.token.app() && in.Author == nil && in.Committer == nil {
		commit.committer = person{"GitHub", "noreply@github.com", date}
		sum := sha256.Sum256(commit.bytes())
		commit.signature = hex.EncodeToString(sum[:])
	}
	sha, err := c.repo.write(commit)
	if err != nil {
		return broken(err)
	}
	return created(c.commitJSON(sha, commit))
}

func (p personJSON) person(otherwise string) (person, error) {
	if p.Name == "" || p.Email == "" || strings.ContainsAny(p.Name+p.Email, "<>\n\x00") {
		return person{}, errors.New("name and email are needed, without angle brackets")
	}
	date := otherwise
	if p.Date != "" {
		at, err := time.Parse(time.RFC3339, p.Date)
		if err != nil {
			return person{}, err
		}
		date = fmt.Sprintf("%d %s", at.Unix(), at.Format("-0700"))
	}
	return person{p.Name, p.Email, date}, nil
}

func (p person) json() object {
	var seconds int64
	var zone string
	_, _ = fmt.Sscan(p.date, &seconds, &zone) // zero when it is broken
	return object{"name": p.name, "email": p.email, "date": time.Unix(seconds, 0).UTC().Format(time.RFC3339)}
}

// gitCommit is what the schemas git-commit and commit share.
func (c *call) gitCommit(sha string, commit commitObject) object {
	return object{
		"url": c.gitURL("commits", sha), "author": commit.author.json(), "committer": commit.committer.json(), "message": commit.message,
		"tree": object{"sha": commit.tree, "url": c.gitURL("trees", commit.tree)}, "verification": commit.verification(),
	}
}

func (c *call) parents(commit commitObject) []object {
	return list(commit.parents, func(p string) object {
		return object{"sha": p, "url": c.gitURL("commits", p), "html_url": c.html("/commit/%s", p)}
	})
}

// commitJSON is the schema git-commit.
func (c *call) commitJSON(sha string, commit commitObject) object {
	out := c.gitCommit(sha, commit)
	out["sha"], out["node_id"], out["html_url"], out["parents"] = sha, "C_"+sha, c.html("/commit/%s", sha), c.parents(commit)
	return out
}

// fullCommit is the schema commit.
func (c *call) fullCommit(sha string) object {
	_, data, err := c.repo.read(sha)
	if err != nil {
		data = nil
	}
	commit := parseCommit(data)
	inner := c.gitCommit(sha, commit)
	inner["comment_count"] = 0
	return object{
		"sha": sha, "node_id": "C_" + sha, "url": c.api("/commits/%s", sha), "html_url": c.html("/commit/%s", sha), "comments_url": c.api("/commits/%s/comments", sha),
		"commit": inner, "author": c.account(commit.author), "committer": c.account(commit.committer), "parents": c.parents(commit),
	}
}

// account is who an address belongs to; nil when nobody is known by it.
func (c *call) account(p person) any {
	name, ok := strings.CutSuffix(p.email, "@users.noreply.github.com")
	if _, login, found := strings.Cut(name, "+"); found {
		name = login
	}
	if u := c.f.users[strings.ToLower(name)]; ok && u != nil {
		return u.json(c.base)
	}
	return nil
}

func (c commitObject) verification() object {
	if c.signature == "" {
		return object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
	}
	unsigned := c
	unsigned.signature = ""
	return object{"verified": true, "reason": "valid", "signature": c.signature, "payload": string(unsigned.bytes()), "verified_at": time.Now().UTC().Format(time.RFC3339)}
}

// resolve is the commit or tree of a name; empty when there is none.
func (r *Repository) resolve(name string) string {
	if id, err := hex.DecodeString(name); err == nil && len(id) == 20 {
		return name
	}
	return r.Branch(strings.TrimPrefix(strings.TrimPrefix(name, "refs/"), "heads/"))
}

func (c *call) getGitCommit() reply {
	sha := c.r.PathValue("sha")
	kind, data, err := c.repo.read(sha)
	if err != nil || kind != "commit" {
		return notFound()
	}
	return ok(c.commitJSON(sha, parseCommit(data)))
}

func (c *call) getCommit() reply {
	sha := c.commit()
	if sha == "" {
		return c.noCommit()
	}
	return ok(c.fullCommit(sha))
}
