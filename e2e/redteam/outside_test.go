//go:build e2e

package redteam

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The world outside, as the canary plays it: a network namespace of its own with
// nothing but a loopback device, on which all of these addresses lie.
const (
	evilIP       = "45.66.77.80" // nobody allows it
	allowedIP    = "45.66.77.81" // allowed.redteam.test, an allowed host
	forgeIP      = "45.66.77.90"
	providerIP   = "45.66.77.91"
	resolverIP   = "45.66.77.53"
	privateIP    = "10.66.77.1"
	metadataIP   = "169.254.169.254"
	wireserverIP = "168.63.129.16"
	evilIPv6     = "2a0b:66:77::80"
	forgeURL     = "http://forge.redteam.test"
)

// openWorld starts the container that is the world outside.
func (s *stage) openWorld(t *testing.T) {
	t.Helper()
	places := map[string]any{
		"Addresses": []string{evilIP, allowedIP, forgeIP, providerIP, resolverIP, privateIP, metadataIP, wireserverIP, evilIPv6},
		"TCP": []string{
			evilIP + ":80", evilIP + ":443", evilIP + ":53", evilIP + ":22", evilIP + ":8080", evilIP + ":8081", evilIP + ":8082", evilIP + ":8083", allowedIP + ":80", allowedIP + ":443", allowedIP + ":22", allowedIP + ":6379",
			providerIP + ":80", privateIP + ":80", metadataIP + ":80", wireserverIP + ":80", wireserverIP + ":32526", "[" + evilIPv6 + "]:80", "127.0.0.1:6379", "[::1]:6380", "127.0.0.53:53", "127.0.0.1:53",
		},
		"UDP":      []string{evilIP + ":53", evilIP + ":9999", "127.0.0.1:9999", "[" + evilIPv6 + "]:9999"},
		"DNS":      []string{resolverIP + ":53"},
		"Unix":     []string{"@redteam-abstract", "/rt/docker.sock", "/rt/other.sock"},
		"Datagram": []string{"@redteam-datagram", "/rt/datagram.sock"},
		"Names": map[string]string{
			"forge.redteam.test": forgeIP, "allowed.redteam.test": allowedIP, "evil.redteam.test": evilIP, "provider.redteam.test": providerIP,
			"loop.wild.redteam.test": "127.0.0.1", "private.wild.redteam.test": privateIP, "metadata.redteam.test": metadataIP, "notallowed.redteam.test": evilIP, "*.evil.redteam.test": evilIP,
			"rebind.wild.redteam.test": "45.66.77.99,127.0.0.1", "six.wild.redteam.test": "::1",
		},
		"Forward":  map[string]string{forgeIP + ":80": "/rt/forge.sock"},
		"Contacts": "/rt/contacts.jsonl", "Ready": "/rt/ready", "Settle": "/rt/settle.sock",
	}
	if s.scenario.machine {
		paths := places["Unix"].([]string)
		for file := range sockets {
			paths = append(paths, "/rt/"+file)
		}
		places["Unix"] = paths
	}
	data, err := json.Marshal(places)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, s.Net, map[string]string{"places.json": string(data), "resolv.conf": "nameserver " + resolverIP + "\n", "hosts": "127.0.0.1 localhost redteam\n::1 localhost\n"})
	l, err := net.Listen("unix", filepath.Join(s.Net, "forge.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.kit, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	s.side = fmt.Sprintf("redteam-%d-%s", os.Getpid(), s.Name)
	t.Cleanup(func() {
		_ = exec.Command("docker", "rm", "-f", s.side).Run()
		server.Close()
	})
	if out, err := docker("run", "-d", "--rm", "--name", s.side, "--label", "ralph-e2e", "--hostname", "redteam", "--network", "none", "--cap-add", "NET_ADMIN",
		"--sysctl", "net.ipv4.tcp_fastopen=3", "--sysctl", "net.ipv6.conf.all.disable_ipv6=0", "--sysctl", "net.ipv4.ping_group_range=0 2147483647",
		"-v", s.Net+":/rt", "-v", s.kit.dir+":/opt/redteam:ro", "--entrypoint", "/opt/redteam/raider", s.kit.image, "canary", "/rt/places.json"); err != nil {
		t.Fatalf("the world outside does not start: %v\n%s", err, out)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(s.Net, "ready")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			out, _ := docker("logs", s.side)
			t.Fatalf("the world outside is not ready: %s", out)
		}
	}
}

// contacts are all that arrived, once the canary has written it down.
func (s *stage) contacts(t *testing.T) []Contact {
	t.Helper()
	c, err := net.Dial("unix", filepath.Join(s.Net, "settle.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer := make([]byte, 500)
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := c.Read(answer); err != nil || string(answer[:n]) != "ok\n" {
		t.Errorf("%s: what arrived is not all written down: %q, %v", s.Name, answer[:n], err)
	}
	return readLines[Contact](filepath.Join(s.Net, "contacts.jsonl"))
}
