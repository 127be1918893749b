package confine

import "testing"

func TestEngines(t *testing.T) {
	t.Parallel()
	for socket, want := range map[string]bool{
		"/var/run/docker.sock": true, "/run/docker.sock": true, "/run/user/1001/docker.sock": true, "/home/me/.docker/run/docker.sock": true,
		"/run/user/1001/podman/podman.sock": true, "/run/containerd/containerd.sock": true, "/run/buildkit/buildkitd.sock": true, "/run/crio/crio.sock": true,
		"/run/dbus/system_bus_socket": false, "/tmp/docker.sock/x": false, "/tmp/mysql.sock": false, "/tmp/dockerfile": false, "": false,
	} {
		if got := isEngine(socket); got != want {
			t.Errorf("isEngine(%q) = %v, want %v", socket, got, want)
		}
	}
	if len(EngineRefused) > 120 {
		t.Errorf("the summary cuts a reason of %d characters", len(EngineRefused))
	}
}
