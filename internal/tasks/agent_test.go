package tasks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// agent writes what comes to its mind: good work, cheating and rubbish.
type agent struct {
	r    *rand.Rand
	made int
}

type object = map[string]any

func (a *agent) pick(all ...any) any { return all[a.r.Intn(len(all))] }

// write is what it leaves of a list.
func (a *agent) write(t *testing.T, before []byte, mode tasks.Mode, id string) []byte {
	doc := unmarshal(t, before).(object)
	stories := doc["userStories"].([]any)
	if a.r.Intn(3) > 0 {
		a.work(stories, mode, id)
	}
	for range a.r.Intn(4) {
		stories = a.cheat(stories)
	}
	doc["userStories"] = stories
	if a.r.Intn(12) == 0 {
		a.rubbish(doc)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", a.pick("", " ", "\t").(string))
	if err := enc.Encode(doc); err != nil {
		t.Fatal(err)
	}
	data := out.Bytes()
	switch a.r.Intn(40) {
	case 0: // killed while it wrote
		return data[:a.r.Intn(len(data))]
	case 1:
		return append(data, data...)
	case 2:
		return bytes.Replace(data, []byte(`"passes"`), []byte(`"passes": true, "passes"`), 1+a.r.Intn(2))
	case 3:
		return bytes.ReplaceAll(data, []byte(`"passes": false`), []byte(`"passes": false, "passes": true`))
	case 4:
		return bytes.ReplaceAll(data, []byte(`"id"`), []byte(`"\u0069d"`))
	case 5:
		data[a.r.Intn(len(data))] = byte(a.r.Intn(256))
	}
	return data
}

// work is what the mode is for, mostly done right.
func (a *agent) work(stories []any, mode tasks.Mode, id string) {
	for _, one := range stories {
		s := one.(object)
		if s["id"] != id {
			continue
		}
		switch mode {
		case tasks.Implement:
			s["reviewStatus"], s["notes"] = "needs_review", a.pick("done", "done", "done", "")
		case tasks.ReviewFix:
			s["reviewStatus"], s["reviewFeedback"] = "needs_review", ""
		case tasks.Review:
			s["reviewCount"] = s["reviewCount"].(float64) + 1
			if a.r.Intn(2) == 0 {
				s["reviewStatus"], s["passes"] = "approved", true
			} else {
				s["reviewStatus"], s["reviewFeedback"] = "changes_requested", "more"
			}
		}
	}
}

func (a *agent) cheat(stories []any) []any {
	if len(stories) == 0 {
		return append(stories, a.fresh())
	}
	i := a.r.Intn(len(stories))
	s, ok := stories[i].(object)
	if !ok {
		return stories
	}
	switch a.r.Intn(17) {
	case 0:
		return slices.Delete(slices.Clone(stories), i, i+1)
	case 1:
		s["id"] = a.id()
	case 2:
		twin := maps.Clone(s)
		a.state(twin)
		return append(slices.Clone(stories), twin)
	case 3, 4:
		return append(slices.Clone(stories), a.fresh())
	case 5:
		return append(slices.Clone(stories), a.pick(nil, 1, "x", []any{}, object{}))
	case 6:
		a.r.Shuffle(len(stories), func(i, j int) { stories[i], stories[j] = stories[j], stories[i] })
	case 7:
		s[a.pick("id", "title", "passes", "priority", "acceptanceCriteria", "reviewStatus", "reviewCount", "reviewFeedback", "notes", "dependsOn", "x").(string)] =
			a.pick(nil, 1, -1, 1.5, "x", true, []any{}, []any{"A1"}, object{}, "approved")
	case 8:
		delete(s, a.pick("id", "passes", "reviewStatus", "reviewCount", "notes", "reviewFeedback", "acceptanceCriteria").(string))
	case 9:
		s["dependsOn"] = []any{a.id(), a.id()}
	case 10:
		s["passes"], s["reviewStatus"], s["notes"] = true, "approved", "trust me"
	case 11:
		s["passes"], s["reviewStatus"], s["reviewCount"] = true, "approved", a.pick(1, 2, 5, 6, 7)
	case 12:
		s["id"] = a.alike(s["id"])
	case 13: // a twin that looks the same takes the story's place
		twin := maps.Clone(s)
		a.state(twin)
		s["id"] = a.alike(s["id"])
		return append(slices.Clone(stories), twin)
	case 14: // gone and come again as if it had been done long ago
		fresh := a.fresh()
		fresh["id"], fresh["passes"], fresh["reviewStatus"], fresh["reviewCount"] = s["id"], true, "approved", 1
		return append(slices.Delete(slices.Clone(stories), i, i+1), fresh)
	case 15:
		s[a.pick("Passes", "PASSES", "p\u0430sses", "reviewstatus", "review_status").(string)] = a.pick(true, "approved")
	default:
		a.state(s)
	}
	return stories
}

// alike is an id that people and careless programs take for the same.
func (a *agent) alike(id any) any {
	s, ok := id.(string)
	if !ok {
		return id
	}
	return a.pick(strings.ToLower(s), strings.Replace(s, "A", "\u0410", 1), strings.Replace(s, "A", "\uff21", 1), s+" ", " "+s, s+"\u200b", s+"\x00",
		strings.Replace(s, "1", "\u0661", 1), s+"\u0301", "\u202e"+s)
}

func (a *agent) id() string { return fmt.Sprintf("A%d", a.r.Intn(6)) }

func (a *agent) state(s object) {
	s["passes"] = a.pick(true, false)
	s["reviewStatus"] = a.pick(nil, "needs_review", "changes_requested", "approved")
	s["reviewCount"] = a.pick(0, 1, 2, 3)
	s["reviewFeedback"] = a.pick("", "x", tasks.CapMark)
}

func (a *agent) fresh() object {
	a.made++
	s := object{"id": a.pick(a.id(), fmt.Sprintf("N%d", a.made)), "title": "new", "acceptanceCriteria": []any{"x"}, "priority": a.r.Intn(4),
		"passes": false, "reviewStatus": nil, "reviewCount": 0, "reviewFeedback": "", "notes": "n"}
	if a.r.Intn(2) == 0 {
		a.state(s)
	}
	return s
}

func (a *agent) rubbish(doc object) {
	key := a.pick("project", "branchName", "description", "verifyCommands", "userStories").(string)
	if a.r.Intn(2) == 0 {
		delete(doc, key)
		return
	}
	doc[key] = a.pick(nil, 1, "x", []any{}, []any{1}, object{})
}
