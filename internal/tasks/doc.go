// Package tasks is a task list and its story to do next: the schema of
// tasks.json, the review cycle's legal transitions, the repair of what an agent
// did to it, and the directory it lives in with prd.md, progress.txt and prompt.md.
//
// The agent writes tasks.json. What it wrote is compared with a [Snapshot] that
// only this process holds; nothing that lies in a file is believed. [Read]
// refuses what is no task list, [Snapshot.Verify] says what is wrong with the
// agent's version, and [Snapshot.Repair] puts it back.
package tasks
