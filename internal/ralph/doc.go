// Package ralph is the domain and the loop: what an iteration, a turn, a
// verdict and an outcome are, and the pure decisions that lead from one to the
// next. It imports the standard library only and does no I/O of its own:
// agents, workspaces and guardrails are handed in as interfaces.
package ralph
