package trigger

import (
	"fmt"
	"slices"
	"strings"
)

// refused is the decision to refuse a run that those who were named by ask have
// asked for. Where no permission has to be asked for it is final.
func (d Decision) refused(err error) (Decision, error) {
	if len(d.Check) == 0 {
		return Decision{}, err
	}
	return Decision{Run: true, Why: d.Why, Check: d.Check, Refuse: err}, nil
}

// owners is the decision on an event that only starts the run: the task is the
// owner's. Where everybody can cause such an event, who did has to be allowed to.
func (d Decision) owners() (Decision, error) {
	d.Run = true
	if d.settings.Use == UseNever || !Anybodys(d.event.Name) {
		return d, nil
	}
	if p := d.event.Sender; bot(p) && !d.allowed(p) {
		return nothing("%s: %s is a bot that allow-bots does not name", d.Why, word(p.Login))
	}
	if err := d.ask(d.event.Sender, "who caused the event"); err != nil {
		return Decision{}, err
	}
	return d, nil
}

// Anybodys reports whether who may only read a repository can cause an event of a
// name. GitHub's and Gitea's names.
func Anybodys(name string) bool {
	switch name {
	case "commit_comment", "fork", "gollum", "watch":
		return true
	}
	return strings.HasPrefix(name, "issue") || strings.HasPrefix(name, "pull_request") || strings.HasPrefix(name, "discussion")
}

// ask adds somebody who asked for the run.
func (d *Decision) ask(p Person, who string) error {
	if p.Login == "" {
		return fmt.Errorf("the event does not say %s: nobody can be asked for permission", who)
	}
	if bot(p) {
		if !d.allowed(p) {
			return fmt.Errorf("%s, %s, is %s if it may start ralph", word(p.Login), who, kind(p))
		}
		return nil
	}
	d.check(Check{Login: p.Login, Who: who, Asked: true})
	return nil
}

// quotes reports whether a text of somebody's can be used. Without the text there
// has to be something else to do, else its absence is a refusal.
func (d *Decision) quotes(p Person, who string, optional bool) (bool, error) {
	switch {
	case p.Login == "" && optional:
		d.Notes = append(d.Notes, fmt.Sprintf("What %s wrote is left out: the account is gone", who))
		return false, nil
	case p.Login == "":
		return false, fmt.Errorf("%s is an account that is gone: nobody can be asked for permission", who)
	case bot(p) && d.allowed(p):
		return true, nil
	case bot(p) && optional:
		d.Notes = append(d.Notes, fmt.Sprintf("What %s, %s, wrote is left out: no person, and no bot that allow-bots names", who, word(p.Login)))
		return false, nil
	case bot(p):
		return false, fmt.Errorf("%s, %s, is %s if its texts may be used, or say what is to do after the command", who, word(p.Login), kind(p))
	}
	d.check(Check{Login: p.Login, Who: who, Optional: optional})
	return true, nil
}

// check adds a check, once for each account.
func (d *Decision) check(c Check) {
	i := slices.IndexFunc(d.Check, func(o Check) bool { return strings.EqualFold(o.Login, c.Login) })
	if i < 0 {
		d.Check = append(d.Check, c)
		return
	}
	d.Check[i].Optional = d.Check[i].Optional && c.Optional
	d.Check[i].Asked = d.Check[i].Asked || c.Asked
}

// bot reports whether an account is no person's. An unknown kind is none, and so is a
// name that only bots of GitHub have; neither makes anybody trusted.
func bot(p Person) bool {
	return p.Type != "" && p.Type != "User" || strings.HasSuffix(strings.ToLower(p.Login), "[bot]")
}

// kind says what an account is that is no person's, and what to do about it.
func kind(p Person) string {
	if p.Type != "" && p.Type != "Bot" && p.Type != "User" {
		return "of the type " + word(p.Type) + ", for which nobody vouches: have a person or a bot do it, and name the bot in allow-bots"
	}
	return "a bot: name it in allow-bots"
}

// allowed reports whether the owner named a bot. An account of another kind may
// have the same name.
func (d *Decision) allowed(p Person) bool {
	if p.Type != "Bot" && (p.Type != "" || !strings.HasSuffix(strings.ToLower(p.Login), "[bot]")) {
		return false
	}
	bare := func(s string) string { return strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), "[bot]") }
	return slices.ContainsFunc(d.settings.AllowBots, func(name string) bool { return bare(name) != "" && bare(name) == bare(p.Login) })
}
