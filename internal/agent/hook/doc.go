// Package hook answers what an agent CLI asks its hooks: may this session stop,
// may this command run, how full is the context. One JSON object in, one out.
//
// Nothing in here may break the agent: whatever is wrong with the input, the
// transcript or the machine, the answer lets the agent go on and a warning says
// why. The formats are those of claude 2.1.197, recorded by running it.
package hook
