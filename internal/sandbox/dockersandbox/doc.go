// Package dockersandbox keeps a coding agent in a Docker Sandbox: a small
// virtual machine that sees the project at its own path, and little else. It is for
// people who work locally; it starts sbx or docker and nothing else.
//
// There are two command lines, and the first that answers is used. Both have
// `create --name NAME claude WORKSPACE [EXTRA_WORKSPACE...]`,
// `exec [-i] [-u USER] [-w DIR] NAME COMMAND [ARG...]`, `stop NAME`, `rm NAME` and
// `ls [--json]`.
//
// sbx is a program of its own, by its reference at docs.docker.com/reference/cli/sbx,
// versions 0.23 to 0.43. It gives no sandbox an underscore in its name, asks before
// it removes one (--force), wants `sbx login` and one `sbx policy init`, and leaves a
// command running when the exec that started it is ended.
//
// `docker sandbox` is that of Docker Desktop 4.58 (cli-plugin v0.7.1), by its reference at
// docs.docker.com/reference/cli/docker/sandbox, with `run NAME -- AGENT_ARGS...`. Older
// ones (4.50 to 4.57) know containers, and no create; newer ones have lost the command.
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
