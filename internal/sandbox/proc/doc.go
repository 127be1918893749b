// Package proc starts child processes and ends their whole trees. It alone uses
// os/exec and kill.
//
// On Linux a run has one supervisor process, the hidden command sandbox-init:
// the agent's user, sub-reaper of all it starts, so that whoever leaves its
// parent, group or session still ends up below it. It starts children on
// request, with descriptors handed over a socket, and a child is over when its
// tree is gone: wait4 says ECHILD, which is a proof where a look through /proc
// never is. The supervisor is a process of its own because waiting for any child
// steals the exit statuses os/exec waits for, and because the end of its socket
// tells it that the parent died, even by SIGKILL.
//
// What a child leaves behind when it exits is ended at once, or goes on for as
// long as Command.Linger says.
//
// Elsewhere children are started directly and ended by process group.
package proc
