package hosts

// Service is a port of a service container of the job.
type Service struct {
	Name      string // canonical: by which containers beside it find it
	Port      int    // of the container; 0: it publishes none
	Published int    // the port of the machine's loopback that stands for it
}

// Here is the rule for the port of loopback where the runner published it.
func (s Service) Here() Rule {
	return Rule{kind: oneHost, host: "localhost", port: s.Published, tcp: true}
}

// Beside is the rule for the container itself. It is found at the same port of
// loopback.
func (s Service) Beside() Rule {
	r := Rule{kind: oneHost, host: s.Name, port: s.Port, tcp: true}
	if s.Published != s.Port {
		r.at = s.Published
	}
	return r
}
