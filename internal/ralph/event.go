package ralph

import "time"

// EventKind tells what an Event reports.
type EventKind int

// The kinds of events. The first group comes from agents, the second from the
// loop itself.
const (
	EventText      EventKind = iota + 1 // assistant text: Text, Message
	EventToolStart                      // a tool call began: Tool, ToolID, Text is a one-line summary of its input
	EventToolEnd                        // a tool call ended: Tool, ToolID, Text is its output (bounded), IsError
	EventTodo                           // the agent's own task list: Todos
	EventProgress                       // a status message: Text
	EventUsage                          // what the turn has used so far, at least: Models, Usage
	EventKept                           // the agent meant to be done, and its stop hook kept it going: Text says why
	EventResult                         // the turn is over: Turn

	EventPrompt         // a turn begins: Text is the prompt, Attempt
	EventNext           // another iteration follows the one before: Iteration, Max, Wait
	EventIterationStart // Iteration, Max, Step
	EventIterationEnd   // Record; nil when nobody was asked
	EventRetry          // the same iteration is tried again: Text says why, Wait
	EventGuardrailStart // Text is the command
	EventGuardrailEnd   // Verdict
	EventCheckpoint     // Commit
	EventTaskStart      // an SCM task begins: Text is the command
	EventTaskEnd        // Task
	EventNotice         // something a user should know: Text
	EventWarning        // something a user should act upon: Text
)

// Event is one thing that happened, for the live log, the session log and the
// loop's own counting. Text of agent events is foreign and unredacted.
type Event struct {
	Kind EventKind
	At   time.Time

	Text    string
	Message string // id of the message an EventText belongs to; blocks of one message are one text
	Tool    string // name of the tool
	ToolID  string // pairs a start with its end
	IsError bool   // the tool call failed
	// Lines and Chars are the size of a tool's whole output when Text is only
	// its beginning; 0 when Text is all of it.
	Lines, Chars int
	// Echo marks text that is shown but never searched for the completion
	// marker: a copy of our own prompt, or a subagent's words.
	Echo  bool
	Todos []Todo
	Turn  *Turn
	// Models is what each model of the turn has used since it began, and Usage the
	// sum, priced; both are lower bounds, because the CLI has not said its last
	// word.
	Models []ModelUsage
	Usage  *Usage

	Iteration int // 1-based
	Max       int // 0: no limit
	Step      Step
	Attempt   int // of EventPrompt, 1-based; 0: the commit message is asked for
	Wait      time.Duration
	Record    *Iteration
	Verdict   *Verdict
	Commit    *Commit
	Task      *Task
}

// TodoStatus is the state of one entry of an agent's task list.
type TodoStatus int

// The states of a Todo.
const (
	TodoPending TodoStatus = iota
	TodoActive
	TodoDone
)

// Todo is one entry of an agent's own task list.
type Todo struct {
	Text   string
	Status TodoStatus
}
