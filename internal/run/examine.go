package run

import (
	"context"
	"fmt"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/run/doctor"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// remarks is a printer that keeps what a run would warn of, and has no other use.
type remarks struct {
	Printer // nil
	all     []string
}

// Warn keeps the line.
func (r *remarks) Warn(line string) { r.all = append(r.all, line) }

// Examine has doctor look at what a run would need. problem is what is wrong with the
// configuration.
func Examine(ctx context.Context, in *Input, problem error, o doctor.Options) []doctor.Check {
	undo := &cleanup{}
	defer undo.everything()
	says := &remarks{}
	looking := *in
	looking.Output = says
	p := &plan{Input: &looking, rec: newRecord(&looking, undo), undo: undo, cfg: in.Config, site: in.Site, checks: in.Config.Checks.Guardrails, prices: &prices{}}
	if p.isolation, p.docker = in.Isolation(p.cfg); p.isolation == "" {
		p.isolation = config.IsolationOff
	}
	s := &sandboxed{workspace: &workspace{plan: p}, Environ: in.Environ}
	problems := []error{problem, p.readPrices()}
	s.Environ = s.installation().Found()
	s.findTools()
	return doctor.Examine(ctx, doctor.Subject{
		Options: o, Version: in.Version, Config: p.cfg, Problems: problems, Environ: s.Environ, Workspace: s.Workspace, Dir: s.dir(), Site: p.site,
		Publishes: p.publishes(), OnRunner: in.onRunner(), Isolation: p.isolation, Docker: p.docker,
		Crew: s.crew(), Named: s.tools.Named, Said: func() []string { return says.all },
	}, s.openForDoctor)
}

// openForDoctor starts what children run under: as a run would, and with a workspace that can
// only be read.
func (s *sandboxed) openForDoctor(ctx context.Context) (box doctor.Sandbox, err error) {
	if s.isolation != config.IsolationOff {
		id, _, err := confine.IdentityFor(confine.Place{
			Workspace: s.Workspace, Marker: rundir.Handover(s.Workspace), DockerSocket: dockerSocket, Fallback: imageUser(),
		})
		if err != nil {
			box.Wrong = append(box.Wrong, err.Error())
		}
		s.identity = id
	}
	if s.temp, err = newTemp(s.tempDir(), s.identity); err != nil {
		return box, fmt.Errorf("private folder: %w", err)
	}
	s.undo.atEnd(s.removeTemp)
	policy := confine.DefaultPolicy([]string{s.temp.home, s.temp.tmp}, append(s.install(), s.Workspace))
	policy.Network = &confine.Network{} // nothing that is asked here has to reach anybody
	o := proc.Options{Identity: s.identity, Env: []string{"PATH=" + s.getenv("PATH")}, SpillDir: s.temp.store, Policy: &policy}
	if box.Tools, err = s.startChildren(ctx, o); err != nil {
		return box, err
	}
	if s.isolation == config.IsolationOff {
		o.Policy = nil
	}
	if s.children, err = s.startChildren(ctx, o); err != nil {
		return box, err
	}
	box.Identity, box.Root, box.Home, box.Tmp, box.Index = s.identity, s.temp.root, s.temp.home, s.temp.tmp, s.temp.index
	box.Installation, box.Env, box.Children, box.Look = s.installation(), s.sandboxEnv(nil), s.children, s.look(s.children, s.getenv("PATH"))
	box.Unprotected, box.Instead = s.unprotectedReviews(s.docker != "")
	box.Network, box.Namespaces = s.networkOptions, func(ctx context.Context) (found, without string, err error) {
		if err = s.openNamespaces(ctx); s.namespaces != nil {
			found = s.namespaces.String()
		}
		return found, s.without, err
	}
	return box, nil
}
