package main

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/tasks"
)

// What is simulated: GitHub's limits (docs.github.com, "Actions limits" and "Rate limits
// for the REST API"), and how often what is lost.
const (
	jobStart    = 45 * time.Second
	laneTime    = 5*time.Hour + 30*time.Minute
	lostJobs    = 0.03 // machines that vanish while they work
	lostUploads = 0.01
	guardrails  = 2 * time.Minute // of the integration, each eight stories
	oneRequest  = 300 * time.Millisecond
)

// fanout compares lanes, as the planner makes them, with a job and a pull request for each
// story, by simulation: ten thousand stories, 40 features of ten layers of 25, each story
// but those of the first layer on two of the layer before, 12 minutes in the median.
func (b *bench) fanout(ctx context.Context) ([]row, error) {
	var rows []row
	for _, slots := range []int{20, 60, 500} {
		began := time.Now()
		stories := manyStories()
		one, err := (&simulation{stories: stories, slots: slots}).matrix(ctx)
		if err != nil {
			return rows, err
		}
		lanes, err := (&simulation{stories: stories, slots: slots}).lanes(ctx)
		if err != nil {
			return rows, err
		}
		b.say("fanout, %d jobs at a time: %s", slots, time.Since(began).Round(time.Millisecond))
		of := fmt.Sprintf("10,000 stories, %d jobs at a time: ", slots)
		add := func(what, unit string, f func(s *simulation) float64) {
			theirs := value{Median: f(one), Unit: unit}
			rows = append(rows, row{What: of + what, Ours: value{Median: f(lanes), Unit: unit}, Comparison: "waves of 256, a job and a pull request for each story", Theirs: &theirs})
		}
		var work time.Duration
		for _, s := range stories {
			work += s.takes
		}
		add("until all is in", "h", func(s *simulation) float64 { return s.now.Hours() })
		rows[len(rows)-1].Note = fmt.Sprintf("%.0f h of work, at least %.1f h; %d and %d waves", work.Hours(), max(work.Hours()/float64(slots), longest(stories).Hours()), lanes.waves, one.waves)
		add("jobs", "", func(s *simulation) float64 { return float64(s.jobs) })
		add("requests to the API", "", func(s *simulation) float64 { return float64(s.api.requests) })
		add("of these refused by a limit", "", func(s *simulation) float64 { return float64(s.api.refused) })
		add("work done twice", "h", func(s *simulation) float64 { return (s.worked - work).Hours() })
		add("hours of runners", "h", func(s *simulation) float64 { return s.runners.Hours() })
		add("hours of agents, which cost", "h", func(s *simulation) float64 { return s.worked.Hours() })
	}
	return rows, nil
}

// simulated is a story.
type simulated struct {
	takes time.Duration
	deps  []int
	done  bool
}

func manyStories() []simulated {
	const n, layer, feature = 10_000, 25, 250
	r := rand.New(rand.NewPCG(1, 2))
	sigma := math.Sqrt(2 * math.Log(2717*60/float64(n)/12))
	all := make([]simulated, n)
	for i := range all {
		all[i].takes = min(5*time.Hour, time.Duration(12*math.Exp(sigma*r.NormFloat64())*float64(time.Minute)))
		if f := i % feature; f >= layer {
			before := i - f + (f/layer-1)*layer
			all[i].deps = []int{before + r.IntN(layer), before + r.IntN(layer)}
		}
	}
	return all
}

// longest is the longest way through the stories.
func longest(stories []simulated) (most time.Duration) {
	ends := make([]time.Duration, len(stories))
	for i, s := range stories {
		for _, d := range s.deps {
			ends[i] = max(ends[i], ends[d])
		}
		ends[i] += s.takes
		most = max(most, ends[i])
	}
	return most
}

// simulation is a list that is worked off.
type simulation struct {
	stories         []simulated
	slots           int
	r               *rand.Rand
	now             time.Duration
	waves, jobs     int
	worked, runners time.Duration
	api             limiter
}

func (s *simulation) begin() {
	s.stories = append([]simulated(nil), s.stories...)
	s.r = rand.New(rand.NewPCG(3, uint64(s.slots)))
	s.api.windows = map[window]int{}
}

// job is work that a machine does: it says when it ends, from when it starts.
type job func(start time.Duration) (end time.Duration, publish func(at time.Duration) time.Duration)

// run runs jobs in their order, as many at a time as there are slots, and waits for all.
func (s *simulation) run(jobs []job) {
	s.jobs += len(jobs)
	var running events
	at := s.now
	for len(jobs) > 0 || len(running) > 0 {
		if len(jobs) > 0 && len(running) < s.slots {
			end, publish := jobs[0](at + jobStart)
			jobs = jobs[1:]
			heap.Push(&running, event{end, at, publish})
			continue
		}
		e := heap.Pop(&running).(event)
		at = max(at, e.at)
		if e.publish != nil { // it keeps its machine
			heap.Push(&running, event{e.publish(e.at), e.began, nil})
			continue
		}
		s.runners += e.at - e.began
	}
	s.now = at
}

// matrix is scheme A: what is ready, at most 256 stories, each a job and a pull request.
// All are merged before the next wave.
func (s *simulation) matrix(ctx context.Context) (*simulation, error) {
	s.begin()
	for {
		var jobs []job
		ready := []int{}
		for i := range s.stories {
			if !s.stories[i].done && len(ready) < fanout.MaxLanes && s.ready(i) {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 || ctx.Err() != nil {
			return s, ctx.Err()
		}
		for _, i := range ready {
			story := &s.stories[i]
			jobs = append(jobs, func(start time.Duration) (time.Duration, func(time.Duration) time.Duration) {
				if s.r.Float64() < lostJobs {
					took := time.Duration(s.r.Float64() * float64(story.takes))
					s.worked += took
					return start + took, nil
				}
				s.worked += story.takes
				story.done = true
				return start + story.takes, func(at time.Duration) time.Duration { return s.api.take(at, 8, 4) }
			})
		}
		s.run(jobs)
		s.waves++
	}
}

func (s *simulation) ready(i int) bool {
	for _, d := range s.stories[i].deps {
		if !s.stories[d].done {
			return false
		}
	}
	return true
}

// lanes is scheme B: the lanes of the planner, and an integration for each part.
func (s *simulation) lanes(ctx context.Context) (*simulation, error) {
	s.begin()
	for {
		plan, err := s.plan()
		if err != nil || ctx.Err() != nil {
			return s, err
		}
		var jobs, integrations []job
		in := map[string]int{}
		_, n := plan.Matrix()
		byName := make([]job, n)
		for p := range plan.Parts {
			part := &plan.Parts[p]
			for l := range part.Lanes {
				var number int
				if _, err := fmt.Sscanf(part.Lanes[l].Name, "L%d", &number); err != nil {
					return s, err
				}
				byName[number-1] = s.lane(part.Lanes[l].Stories, func() { in[part.Branch]++ })
			}
			integrations = append(integrations, func(start time.Duration) (time.Duration, func(time.Duration) time.Duration) {
				took := guardrails * time.Duration((in[part.Branch]+7)/8)
				return start + took, func(at time.Duration) time.Duration { return s.api.take(at, 8, 4) }
			})
		}
		if n == 0 {
			return s, nil
		}
		jobs = append(jobs, byName...)
		s.run([]job{func(start time.Duration) (time.Duration, func(time.Duration) time.Duration) {
			return start + 15*time.Second, func(at time.Duration) time.Duration { return s.api.take(at, 2, 1) } // and the next wave's start
		}})
		s.run(jobs)
		s.run(integrations)
		s.waves++
	}
}

// lane works on its stories until its time is over or its machine is lost. What was not
// uploaded is lost.
func (s *simulation) lane(ids []string, in func()) job {
	return func(start time.Duration) (time.Duration, func(time.Duration) time.Duration) {
		var sum time.Duration
		stories := make([]int, len(ids))
		for n, id := range ids {
			_, _ = fmt.Sscanf(id, "US-%d", &stories[n]) // as plan wrote it
			sum += s.stories[stories[n]].takes
		}
		end := min(sum, laneTime)
		if s.r.Float64() < lostJobs {
			end = time.Duration(s.r.Float64() * float64(end))
		}
		s.worked += end
		var at time.Duration
		var done []int
		for _, i := range stories {
			if at += s.stories[i].takes; at > end {
				break
			}
			if done = append(done, i); s.r.Float64() < lostUploads {
				continue // the next one has it, too
			}
			for _, i := range done {
				s.stories[i].done = true
				in()
			}
			done = nil
		}
		return start + end, func(at time.Duration) time.Duration { return s.api.take(at, 2, 0) }
	}
}

// plan asks the real planner, with all that is done merged.
func (s *simulation) plan() (*fanout.Plan, error) {
	var text bytes.Buffer
	text.WriteString(`{"project": "", "branchName": "ralph/x", "description": "", "userStories": [`)
	for i := range s.stories {
		if i > 0 {
			text.WriteByte(',')
		}
		deps := []string{}
		for _, d := range s.stories[i].deps {
			deps = append(deps, fmt.Sprintf("US-%05d", d))
		}
		on, err := json.Marshal(deps)
		if err != nil {
			return nil, err
		}
		state := `"passes": false, "reviewStatus": null, "reviewCount": 0`
		if s.stories[i].done {
			state = `"passes": true, "reviewStatus": "approved", "reviewCount": 1`
		}
		fmt.Fprintf(&text, `{"id": "US-%05d", "title": "t", "acceptanceCriteria": ["x"], "priority": 1, %s, "reviewFeedback": "", "notes": "n", "dependsOn": %s}`, i, state, on)
	}
	text.WriteString("]}")
	list, err := tasks.Read(text.Bytes())
	if err != nil {
		return nil, err
	}
	return fanout.Make(fanout.Input{
		Options: fanout.Options{Wave: s.waves + 1, Lanes: min(fanout.MaxLanes, s.slots), Rules: tasks.Rules{ReviewCap: 5}}, Dir: "ralph",
		Base: fanout.At{Commit: "0000000000000000000000000000000000000000", List: list},
	})
}

// event is the end of a job, or of its publication.
type event struct {
	at, began time.Duration
	publish   func(at time.Duration) time.Duration
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// limiter is the API of the forge with GITHUB_TOKEN, for one repository.
type limiter struct {
	requests, refused int
	windows           map[window]int
}

// window is an hour or a minute in which so much of a kind is allowed.
type window struct {
	content bool
	length  time.Duration
	number  int64
}

// take makes requests one after another, those that create something last, and waits
// where one is refused.
func (l *limiter) take(at time.Duration, plain, content int) time.Duration {
	for n := range plain + content {
		for {
			l.requests++
			until := l.one(at, n >= plain)
			if until == 0 {
				break
			}
			l.refused++
			at = until
		}
		at += oneRequest
	}
	return at
}

// one counts a request; if it is refused it says until when.
func (l *limiter) one(at time.Duration, content bool) (until time.Duration) {
	type limit struct {
		window
		most int
	}
	limits := []limit{{window{false, time.Hour, int64(at / time.Hour)}, 1000}}
	if content {
		limits = append(limits, limit{window{true, time.Minute, int64(at / time.Minute)}, 80}, limit{window{true, time.Hour, int64(at / time.Hour)}, 500})
	}
	for _, one := range limits {
		if l.windows[one.window] >= one.most {
			until = max(until, time.Duration(one.number+1)*one.length)
		}
	}
	if until == 0 {
		for _, one := range limits {
			l.windows[one.window]++
		}
	}
	return until
}
