package fakegithub

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

type personJSON struct{ Name, Email, Date string }

// createCommit signs what an installation commits in its own name: GitHub
// verifies a commit of a bot that names neither author nor committer.
func (f *Forge) createCommit(c *call) {
	var in struct {
		Message           string
		Tree              string
		Parents           []string
		Author, Committer *personJSON
		Signature         string
	}
	if !c.read(&in) {
		return
	}
	if in.Message == "" {
		c.invalid("Commit", "message", "missing_field")
		return
	}
	if kind, _, err := c.repo.readObject(in.Tree); err != nil || kind != "tree" {
		c.refuse(http.StatusUnprocessableEntity, "Tree SHA does not exist")
		return
	}
	for _, p := range in.Parents {
		if kind, _, err := c.repo.readObject(p); err != nil || kind != "commit" {
			c.refuse(http.StatusUnprocessableEntity, "Parent SHA does not exist or is not a commit object")
			return
		}
	}
	me := f.userLocked(c.token.Login)
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
		c.refuse(http.StatusUnprocessableEntity, "Invalid request.\n\n"+err.Error())
		return
	}
	if c.token.app() && in.Author == nil && in.Committer == nil {
		commit.committer = person{"GitHub", "noreply@github.com", date}
		sum := sha256.Sum256(commit.bytes())
		commit.signature = hex.EncodeToString(sum[:])
	}
	sha, err := c.repo.writeObject("commit", commit.bytes())
	if err != nil {
		c.refuse(http.StatusInternalServerError, err.Error())
		return
	}
	c.answer(http.StatusCreated, c.commitJSON(sha, commit))
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

func (p person) json() map[string]any {
	var seconds int64
	var zone string
	_, _ = fmt.Sscan(p.date, &seconds, &zone) // zero when it is broken
	return map[string]any{"name": p.name, "email": p.email, "date": time.Unix(seconds, 0).UTC().Format(time.RFC3339)}
}

// commitJSON is the schema git-commit.
func (c *call) commitJSON(sha string, commit commitObject) map[string]any {
	parents := []map[string]any{}
	for _, p := range commit.parents {
		parents = append(parents, map[string]any{"sha": p, "url": c.gitURL("commits", p), "html_url": c.repo.URL() + "/commit/" + p})
	}
	return map[string]any{
		"sha": sha, "node_id": "C_" + sha, "url": c.gitURL("commits", sha), "html_url": c.repo.URL() + "/commit/" + sha,
		"author": commit.author.json(), "committer": commit.committer.json(), "message": commit.message,
		"tree":    map[string]any{"sha": commit.tree, "url": c.gitURL("trees", commit.tree)},
		"parents": parents, "verification": commit.verification(),
	}
}

func (c commitObject) verification() map[string]any {
	if c.signature == "" {
		return map[string]any{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
	}
	unsigned := c
	unsigned.signature = ""
	return map[string]any{"verified": true, "reason": "valid", "signature": c.signature, "payload": string(unsigned.bytes()), "verified_at": now()}
}

var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// resolve is the commit or tree of a name; empty when there is none.
func (r *Repository) resolve(name string) string {
	if shaPattern.MatchString(name) {
		return name
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "refs/"), "heads/")
	return r.Branch(name)
}

func (f *Forge) getGitCommit(c *call) {
	sha := c.r.PathValue("sha")
	kind, data, err := c.repo.readObject(sha)
	if err != nil || kind != "commit" {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.answer(http.StatusOK, c.commitJSON(sha, parseCommit(data)))
}
