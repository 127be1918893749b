package integration_test

import (
	"reflect"
	"testing"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/run/integration"
)

// What other plans brought in is told of, the oldest first, and nothing else of the branch.
func TestEarlier(t *testing.T) {
	t.Parallel()
	w := &integration.Wave{Plan: &fanout.Plan{Version: 1, Wave: 3}}
	key := func(wave int, lane, plan string) string {
		return fanout.LaneKey{Wave: wave, Lane: lane, Plan: plan}.String()
	}
	messages := []string{ // the newest first
		memory.LaneMessage(memory.Laned{Story: "US-3", Title: "Three", Lane: key(3, "L001", w.Plan.ID()), In: true}),
		memory.LaneMessage(memory.Laned{Story: "US-2", Title: "Two", Lane: key(2, "L002", "0123456789ab"), Cost: ralph.Cost{Amount: ralph.USD}, In: true}),
		memory.LaneMessage(memory.Laned{Story: "US-4", Lane: key(2, "L001", "0123456789ab")}), // handed back
		"feat: [US-9] - by a person\n\nRalph-Story: US-9\n",
		memory.LaneMessage(memory.Laned{Story: "US-1", Title: "One", Lane: key(1, "L007", "ba9876543210"), In: true}),
		"fix: something",
	}
	got := w.Earlier(messages, []ralph.Story{{ID: "US-1", Title: "The first", Reviews: 2}})
	want := []ralph.WaveStory{
		{ID: "US-1", Title: "The first", Lane: "L007", Wave: 1, Reviews: 2, Fate: ralph.FateAlready},
		{ID: "US-2", Lane: "L002", Wave: 2, Cost: ralph.Cost{Amount: ralph.USD}, Fate: ralph.FateAlready},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Earlier() = %+v, want %+v", got, want)
	}
}
