package confine

import (
	"path"
	"slices"
	"strings"
)

// EngineRefused is why a container engine is out of reach, and what to do instead.
const EngineRefused = "a container engine is root on the machine: use the job's services, or a step before or after ralph"

// isEngine reports whether a unix socket is that of a container engine, wherever
// DOCKER_HOST and its like say that it is.
func isEngine(socket string) bool {
	name := path.Base(socket)
	return slices.ContainsFunc([]string{"docker", "podman", "containerd", "buildkit", "crio"}, func(engine string) bool {
		return strings.HasPrefix(name, engine) && strings.HasSuffix(name, ".sock")
	})
}
