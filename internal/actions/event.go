package actions

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/org/ralph-action/internal/actions/trigger"
)

// Event is what ralph needs of the event that started the run. All of it is
// foreign text.
type Event = trigger.Event

// maxEvent bounds the event file; GitHub's own limit for payloads is 25 MB.
const maxEvent = 32 << 20

// ReadEvent reads the event file. Call it before the agent starts, which may own
// the file. Without an event file the answer has at most a name.
func ReadEvent(getenv func(string) string) (Event, error) {
	name, path := getenv("GITHUB_EVENT_NAME"), getenv("GITHUB_EVENT_PATH")
	if path == "" {
		return Event{Name: name}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return Event{}, fmt.Errorf("the runner's event file (GITHUB_EVENT_PATH) cannot be read: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Event{}, errors.Join(fmt.Errorf("the runner's event file %s (GITHUB_EVENT_PATH) is not a file", path), err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return Event{}, fmt.Errorf("the runner's event file (GITHUB_EVENT_PATH) cannot be read: %w", err)
	}
	if len(data) > maxEvent {
		return Event{}, fmt.Errorf("the runner's event file %s (GITHUB_EVENT_PATH) is larger than %d MiB", path, maxEvent>>20)
	}
	event, err := parseEvent(name, data)
	if err != nil {
		return Event{}, fmt.Errorf("the runner's event file %s (GITHUB_EVENT_PATH) is not an event: %w", path, err)
	}
	return event, nil
}
