package driver

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// VertexHosts are those of Google's models in a region, and of the identity of a
// workload.
func VertexHosts(o Options, region string) []string {
	hosts := []string{"aiplatform.googleapis.com", "oauth2.googleapis.com"}
	switch region {
	case "", "global":
	case "us", "eu":
		hosts = append(hosts, "aiplatform."+region+".rep.googleapis.com")
	default:
		hosts = append(hosts, region+"-aiplatform.googleapis.com")
	}
	if Lookup(o.Env, "GOOGLE_APPLICATION_CREDENTIALS") != "" {
		hosts = append(hosts, "sts.googleapis.com", "iamcredentials.googleapis.com", "*.actions.githubusercontent.com")
	}
	return hosts
}

// Label is a text that can stand between the dots of a host's name; empty for any
// other.
func Label(s string) string {
	if len(s) > 63 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
		return ""
	}
	return strings.ToLower(s)
}

// HostOf is the pattern for an address; empty for one on loopback or that is none.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	switch u.Scheme {
	case "https", "wss":
	case "http", "ws":
		if port == "" {
			port = "80"
		}
	default:
		return ""
	}
	ip, err := netip.ParseAddr(name)
	switch {
	case name == "", name == "localhost", strings.HasSuffix(name, ".localhost"), err == nil && ip.Unmap().IsLoopback():
		return ""
	case strings.ContainsAny(name, "*, \t\r\n/"):
		return ""
	case port == "" || port == "443":
		return name
	}
	return net.JoinHostPort(name, port)
}

// HostsOf are the patterns for addresses.
func HostsOf(addresses ...string) []string {
	var all []string
	for _, address := range addresses {
		if host := HostOf(address); host != "" {
			all = append(all, host)
		}
	}
	return all
}
