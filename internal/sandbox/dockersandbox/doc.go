// Package dockersandbox keeps a coding agent in a Docker Sandbox: a small
// virtual machine of Docker Desktop that sees the project at its own path, and
// little else. It is for people at a desk; it starts docker and nothing else.
//
// The command line is that of `docker sandbox` as Docker Desktop 4.58 brought it
// (cli-plugin v0.7.1), by its reference at
// docs.docker.com/reference/cli/docker/sandbox: `create --name NAME claude
// WORKSPACE [EXTRA_WORKSPACE...]`, `exec [-i] [-u USER] NAME COMMAND [ARG...]`,
// `run NAME -- AGENT_ARGS...`, `stop NAME`, `rm NAME`, `ls [--json]`. Older ones
// (4.50 to 4.57) know containers, and no create. In 2026 Docker declared the
// command deprecated and took it out of Docker Desktop in favour of a separate
// program, sbx, which gives no sandbox an underscore in its name; it is not used
// here.
//
// Changes are carried between host and sandbox with two habits that shape this
// package: a file the sandbox has once seen keeps its content there whatever
// the host writes over it, until the sandbox is stopped and started again
// ([VM.Prepare]) or the file is written from inside ([VM.Write]); and what the
// sandbox writes takes a moment to arrive, so that a caller waits a little
// before it reads.
//
// What docker prints and what lies in the shared folder is foreign: an agent in
// another sandbox may have written it.
package dockersandbox
