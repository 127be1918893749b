package hook

import "strings"

// Missing is what the agent is told when it wanted to end without the promise.
func (s *Session) Missing() string {
	return s.resume("You attempted to end the loop, but you did not output the completion promise "+s.PromiseMarker+
		". Continue working on the original task below. Only output the promise when the task is fully complete.", " ")
}

// Rejected is what it is told when it made the promise without work.
func (s *Session) Rejected() string {
	return s.resume("Promise detected, but no tool calls/work were performed; you must actually complete the task before emitting the promise.", " ")
}

// Failed is what it is told when checks failed, with or without a promise.
func (s *Session) Failed(problems []string) string {
	return s.resume(strings.Join(problems, "\n\n"), "\n\n")
}

// resume puts what has to be said between the words that stand before every
// continuation and the task.
func (s *Session) resume(text, gap string) string {
	if s.Ultrawork != "" {
		text = s.Ultrawork + "\n\n" + text
	}
	return text + gap + "Original task: " + shorten(s.TaskPrompt, maxTask)
}
