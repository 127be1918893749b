// Package repo is the git side of a run: it takes snapshots of what the agent did,
// decides what of them may be published, commits it and has it pushed.
//
// Git programs run in the agent's sandbox only (worktree.Sandbox): there, whatever the
// agent planted in the repository's configuration, hooks or attributes runs with the
// rights the agent had anyway. Outside of it, git's objects are read as data: they are
// handed over as packs whose hashes are recomputed, in a private store the agent cannot
// write.
//
// Decisions that shape the package:
//
//   - The work branch is attached when the run begins: the branch is made at
//     the current commit and HEAD points to it, a detached HEAD included. The
//     agent's own commits therefore land on the work branch and never on main.
//     The work tree is not touched.
//   - After each checkpoint the workspace's branch and index move to the
//     checkpoint commit. Otherwise the agent's next commits would fork off
//     below it.
//   - What was dirty before the agent started stays in the work tree and out of
//     the commits, until the agent changes the same path.
//   - The branch only ever grows. A history the agent rewrote, or that holds
//     what may not be published, is published as one commit with its tree.
//   - What is to be published is shown to Options.Inspect, at each snapshot: the
//     tree, and each of the agent's own commits. The last step before a push looks again at
//     every commit that goes out, and shows what no snapshot has shown: nothing leaves the
//     machine uninspected.
//   - When somebody else pushed meanwhile, our commits are replayed on top of
//     theirs in the private store. The workspace keeps its own line: it is not
//     changed while the agent works in it.
package repo
