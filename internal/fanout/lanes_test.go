package fanout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// The stories of all lanes come in by level and priority, each lane's in its own order.
func TestOrder(t *testing.T) {
	t.Parallel()
	var stories []string
	for _, s := range []struct {
		id, depends string
		priority    int
	}{{"A", "", 5}, {"B", `"A"`, 1}, {"C", "", 3}, {"D", "", 1}, {"E", `"Z"`, 2}, {"Z", "", 9}} {
		stories = append(stories, fmt.Sprintf(`{"id": %q, "title": "t", "acceptanceCriteria": ["c"], "priority": %d, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "dependsOn": [%s]}`, s.id, s.priority, s.depends))
	}
	list, err := tasks.Read([]byte(`{"project": "p", "branchName": "b", "description": "", "userStories": [` + strings.Join(stories, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	part := &fanout.Part{Lanes: []fanout.Lane{{Name: "L001", Stories: []string{"A", "B"}}, {Name: "L002", Stories: []string{"C", "D"}}, {Name: "L003", Stories: []string{"E", "gone"}}}}
	got := ""
	for _, turn := range fanout.Order(list, part) {
		got += fmt.Sprint(turn.Story, turn.Lane, " ")
	}
	if want := "E2 gone2 C1 D1 A0 B0 "; got != want {
		t.Errorf("Order = %s, want %s", got, want)
	}
}

// The newest artifact of a lane counts, and none of another plan.
func TestMatch(t *testing.T) {
	t.Parallel()
	plan := &fanout.Plan{Version: 1, Dir: "ralph", Wave: 1, Parts: []fanout.Part{{Branch: "b", Base: commit, Digest: sum, Lanes: []fanout.Lane{{Name: "L001", Stories: []string{"A", "B"}}, {Name: "L002", Stories: []string{"C"}}}}}}
	part := &plan.Parts[0]
	at := func(name string, change func(*fanout.Result)) fanout.Artifact {
		r := result()
		r.Key = plan.Key(&part.Lanes[0])
		change(&r)
		return fanout.Artifact{Name: name, Result: &r}
	}
	for _, c := range []struct {
		name                 string
		found                []fanout.Artifact
		artifact, why, notes string
	}{
		{"none", nil, "", "", ""},
		{"the newest", []fanout.Artifact{at("one", func(*fanout.Result) {}), at("three", func(r *fanout.Result) { r.Sequence = 3 }), at("two", func(r *fanout.Result) { r.Sequence = 2 })}, "three", "", ""},
		{"another plan", []fanout.Artifact{at("x", func(r *fanout.Result) { r.Key = "w1-L001-000000000000" })}, "", "", `"x" is not looked at: it is of w1-L001-000000000000`},
		{"another wave", []fanout.Artifact{at("x", func(r *fanout.Result) { r.Key = strings.Replace(r.Key, "w1", "w2", 1) })}, "", "", `"x" is not looked at`},
		{"not to be read", []fanout.Artifact{{Name: "x", Err: fmt.Errorf("no")}}, "", "", `"x" is not looked at: no`},
		{"another base", []fanout.Artifact{at("x", func(r *fanout.Result) { r.Base = strings.Repeat("0", 40) })}, "x", "it began at 000000000000", ""},
		{"another story", []fanout.Artifact{at("x", func(r *fanout.Result) { r.Stories[1].ID = "C" })}, "x", `it hands over story "C", which is not one of its own`, ""},
		{"another order", []fanout.Artifact{at("x", func(r *fanout.Result) { r.Stories[0].ID, r.Stories[1].ID = "B", "A" })}, "x", "out of the plan's order", ""},
	} {
		offers, notes := plan.Match(part, c.found)
		if len(offers) != 2 || offers[1].Artifact != nil {
			t.Errorf("%s: Match = %+v", c.name, offers)
			continue
		}
		artifact := ""
		if offers[0].Artifact != nil {
			artifact = offers[0].Artifact.Name
		}
		if said := strings.Join(notes, "\n"); artifact != c.artifact || !strings.Contains(offers[0].Why, c.why) || (offers[0].Why == "") != (c.why == "") || !strings.Contains(said, c.notes) || (said == "") != (c.notes == "") {
			t.Errorf("%s: Match = %q, %q, %q, want %q, %q, %q", c.name, artifact, offers[0].Why, said, c.artifact, c.why, c.notes)
		}
	}
}

// Another wave is worth it while stories, waves and budget are left and the last one got on.
func TestNext(t *testing.T) {
	t.Parallel()
	in := []ralph.WaveStory{{Fate: ralph.FateIn}}
	for _, c := range []struct {
		plan    fanout.Plan
		left    int
		stories []ralph.WaveStory
		cost    ralph.MicroUSD
		next    bool
		why     string
	}{
		{fanout.Plan{Wave: 1}, 3, in, 9, true, "3 stories are left"},
		{fanout.Plan{Wave: 1}, 0, in, 0, false, "every story is done"},
		{fanout.Plan{Wave: 1}, 3, nil, 0, false, "no story of this wave got in"},
		{fanout.Plan{Wave: 1}, 3, []ralph.WaveStory{{Fate: ralph.FateReturned}}, 0, false, "no story of this wave got in"},
		{fanout.Plan{Wave: 1}, 3, []ralph.WaveStory{{Fate: ralph.FateAlready}}, 0, true, "left"},
		{fanout.Plan{Wave: 2, Waves: 2}, 3, in, 0, false, "the last of 2 waves"},
		{fanout.Plan{Wave: 1, Waves: 2}, 3, in, 0, true, "left"},
		{fanout.Plan{Wave: 1, Budget: 10}, 3, in, 10, false, "is spent"},
		{fanout.Plan{Wave: 1, Budget: 10}, 3, in, 9, true, "left"},
	} {
		next, why := c.plan.Next(c.left, &ralph.Wave{Stories: c.stories, Cost: ralph.Cost{Amount: c.cost}})
		if next != c.next || !strings.Contains(why, c.why) {
			t.Errorf("Next(%+v, %d) = %v, %q, want %v, %q", c.plan, c.left, next, why, c.next, c.why)
		}
	}
}
