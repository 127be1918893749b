package gitdata

import (
	"crypto/sha1" // git's object id, no protection
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"
)

// commitObject builds the commit of an answer as git stores it
// (gitformat-signature: the signature is a header whose further lines are
// indented). nil when no form of it has the commit's id: the API shows dates in
// UTC and says nothing of line ends.
func commitObject(c *github.Commit) []byte {
	var forms []string
	head, text, ok := strings.Cut(c.GetVerification().GetPayload(), "\n\n")
	if signature := c.GetVerification().GetSignature(); ok && signature != "" {
		for _, s := range []string{signature, strings.TrimRight(signature, "\n"), strings.TrimRight(signature, "\n") + "\n"} {
			forms = append(forms, head+"\ngpgsig "+strings.ReplaceAll(s, "\n", "\n ")+"\n\n"+text)
		}
	}
	var plain strings.Builder
	fmt.Fprintf(&plain, "tree %s\n", c.GetTree().GetSHA())
	for _, p := range c.Parents {
		fmt.Fprintf(&plain, "parent %s\n", p.GetSHA())
	}
	for _, who := range []struct {
		role string
		of   *github.CommitAuthor
	}{{"author", c.GetAuthor()}, {"committer", c.GetCommitter()}} {
		fmt.Fprintf(&plain, "%s %s <%s> %d +0000\n", who.role, who.of.GetName(), who.of.GetEmail(), who.of.GetDate().Unix())
	}
	for _, end := range []string{"", "\n"} {
		forms = append(forms, plain.String()+"\n"+c.GetMessage()+end)
	}
	for _, form := range forms {
		if gitID("commit", []byte(form)) == c.GetSHA() {
			return []byte(form)
		}
	}
	return nil
}

// gitID is the id of a git object.
func gitID(kind string, content []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
