// Package inspect looks at what is about to be published: protected paths, limits,
// secrets, tests and checks that were weakened.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect/content"
	"github.com/org/ralph-action/internal/inspect/secretscan"
	"github.com/org/ralph-action/internal/inspect/testintegrity"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/objects"
)

// Inspector looks at what is about to be published.
type Inspector struct {
	policy   content.Policy
	scanner  *secretscan.Scanner
	formats  ralph.Severity // of what only looks like a secret
	options  testintegrity.Options
	run      content.Run
	scanned  map[edit][]secretscan.Hit // what a scan found
	versions map[string][]byte         // small contents by id, for what looks at all of the work
	kept     int64                     // bytes in versions
	work     []testintegrity.File      // of the last look
	unseen   int                       // files of the last look that are not in work
}

// edit are the ids of a file's content before and after, and its path.
type edit struct{ old, new, path string }

// Mask blots out what looks like a secret.
func (in *Inspector) Mask(text string) string { return string(in.scanner.Mask([]byte(text))) }

// Work says who works and since when: what a commit's message may claim is judged
// by it.
func (in *Inspector) Work(run content.Run) { in.run = run }

// Leaves reports whether a changed file is left out of what is published.
func (in *Inspector) Leaves(path string) bool { return in.policy.LeavesOut(path) }

// Protects reports whether a path is protected.
func (in *Inspector) Protects(path string) bool { return in.policy.Protected.Match(path) != "" }

// MaskPatch is a patch with its secrets blotted out; clean reports whether nothing
// that looks like one is left.
func (in *Inspector) MaskPatch(patch []byte) (masked []byte, clean bool) {
	masked = in.scanner.MaskPatch(patch)
	return masked, len(in.scanner.Text(string(masked))) == 0
}

// New returns an error that names each pattern of c that is wrong.
func New(c config.Content, guardrails []config.Guardrail, known []secret.String) (*Inspector, error) {
	in := &Inspector{scanned: map[edit][]secretscan.Hit{}, versions: map[string][]byte{}}
	var protected []string
	for _, p := range c.ProtectedPaths {
		if p == "default" {
			protected = append(protected, content.Protected()...)
			continue
		}
		protected = append(protected, p)
	}
	patterns, errPaths := content.Parse(protected)
	in.policy = content.Policy{
		Protected: patterns, OnProtected: severity(c.ProtectedPolicy),
		MaxFiles: c.MaxFiles, MaxBytes: c.MaxBytes,
	}
	in.formats = severity(c.SecretScan)
	allowed, errAllowed := content.Parse(c.SecretScanAllow)
	in.scanner = secretscan.New(secretscan.Options{
		Known: known, Formats: c.SecretScan != config.ContentOff,
		Allow: func(path string) bool { return allowed.Match(path) != "" },
	})
	for _, g := range guardrails {
		in.options.Guardrails = append(in.options.Guardrails, g.Command)
	}
	if errPaths != nil {
		errPaths = fmt.Errorf("protected-paths: %w", errPaths)
	}
	if errAllowed != nil {
		errAllowed = fmt.Errorf("secret-scan-allow: %w", errAllowed)
	}
	return in, errors.Join(errPaths, errAllowed)
}

func severity(p config.ContentPolicy) ralph.Severity {
	switch p {
	case config.ContentBlock:
		return ralph.Block
	case config.ContentLeaveOut:
		return ralph.LeftOut
	case config.ContentDraft:
		return ralph.Draft
	case config.ContentAllow:
		return ralph.Flag
	}
	return ""
}

// Look judges the work before it is committed, and what would leave the machine
// with it.
func (in *Inspector) Look(ctx context.Context, at inspection.Request) ([]ralph.Finding, error) {
	in.scanner.Renew()
	var found []ralph.Finding
	had := replaced(ctx, at)
	for _, c := range at.Since {
		hits, err := in.leaks(ctx, c, had)
		if err != nil {
			return nil, err
		}
		found = append(found, hits...)
	}
	for _, m := range at.Messages {
		found = append(found, in.words("the message of commit "+short(m.Commit), m.Text)...)
		if !at.Last { // else it is ours, or was here before the run
			in.run.Now = time.Now()
			found = append(found, in.run.Claims(m.Commit, m.Text)...)
		}
	}
	found = append(found, in.words("the name of the branch", at.Branch)...)
	found = append(found, in.LeftOut(at.LeftOut)...)
	if at.Last { // commits that were here before the run, or paths that were judged before
		return found, nil
	}
	earlier, err := in.earlier(ctx, at, had)
	if err != nil {
		return nil, err
	}
	found = append(found, earlier...)
	found = append(found, in.policy.Judge(content.Work{Total: files(at.Total), Run: files(at.Run), Since: files(at.Since)})...)
	if err := in.keep(ctx, at.Total); err != nil {
		return nil, err
	}
	return Sorted(found), nil
}

// earlier are the secrets that earlier runs published on the branch: nothing holds
// them back any more, but the pull request is not merged unseen.
func (in *Inspector) earlier(ctx context.Context, at inspection.Request, had iter.Seq[[]byte]) ([]ralph.Finding, error) {
	run := map[string]bool{}
	for _, c := range slices.Concat(at.Run, at.Since) {
		run[c.Path] = true
	}
	var found []ralph.Finding
	for _, c := range at.Total {
		if run[c.Path] {
			continue
		}
		hits, err := in.leaks(ctx, c, had)
		if errors.Is(err, objects.ErrNoContent) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range hits {
			if f.Severity == ralph.Block {
				f.Severity = ralph.Draft
			}
			f.Where = "on the branch before this run"
			found = append(found, f)
		}
	}
	return found, nil
}

// leaks are the secrets in a file that would be published, and in its name.
func (in *Inspector) leaks(ctx context.Context, c inspection.Changed, had iter.Seq[[]byte]) ([]ralph.Finding, error) {
	where := ""
	if c.Commit != "" {
		where = "in commit " + short(c.Commit)
	}
	var found []ralph.Finding
	if c.OldMode == inspection.ModeNone || c.From != "" { // others are published
		name := "the name of a file"
		if dir := path.Dir(c.Path); dir != "." && len(in.scanner.Text(dir)) == 0 {
			name += " in " + strconv.Quote(dir)
		}
		found = in.texts(in.scanner.Text(c.Path), "", strings.TrimSpace(name+" "+where))
	}
	if c.NewMode == inspection.ModeNone || c.NewMode == inspection.ModeRepository {
		return found, nil
	}
	key := edit{c.OldID, c.NewID, c.Path}
	hits, known := in.scanned[key]
	if !known {
		now, err := c.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for secrets in %s: %w", c.Path, err)
		}
		before, err := c.Old(ctx)
		if err != nil && !errors.Is(err, objects.ErrNoContent) {
			return nil, fmt.Errorf("look for secrets in %s: %w", c.Path, err)
		}
		hits = in.scanner.File(c.Path, before, now, had)
		large, err := in.largeFile(c)
		if err != nil {
			return nil, fmt.Errorf("look for secrets in %s: %w", c.Path, err)
		}
		hits = append(hits, large...)
		if len(hits) == 0 { // else it may be for other files that there was no time, or what they hold may change
			in.scanned[key] = hits
		}
	}
	found = append(found, in.texts(hits, c.Path, where)...)
	if r, size, ok := c.Large(); ok {
		_ = r.Close()
		if size > maxLarge {
			found = append(found, ralph.Finding{
				Kind: ralph.FindingUnknown, Severity: ralph.Flag, Path: c.Path, Where: where, Rule: "large-file",
				Text: fmt.Sprintf("only the first %d MB of a file in Git LFS were searched for secrets", maxLarge>>20),
			})
		}
	}
	return found, nil
}

// replaced are the contents that the run changed or deleted: what looks like a secret
// and stood there was published before.
func replaced(ctx context.Context, at inspection.Request) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, c := range at.Run {
			if c.OldMode == inspection.ModeNone || c.OldMode == inspection.ModeRepository || c.OldSize > maxVersion {
				continue
			}
			if content, err := c.Old(ctx); err == nil && len(content) <= maxVersion && !yield(content) {
				return
			}
		}
	}
}

// maxLarge is how much of a file that Git LFS keeps is looked at.
const maxLarge = 100 << 20

// largeFile looks at what Git LFS publishes beside a pointer.
func (in *Inspector) largeFile(c inspection.Changed) ([]secretscan.Hit, error) {
	r, _, ok := c.Large()
	if !ok {
		return nil, nil
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxLarge))
	if err != nil {
		return nil, err
	}
	return in.scanner.File(c.Path, nil, data), nil
}

// words are the secrets in a text that is no file.
func (in *Inspector) words(where, text string) []ralph.Finding {
	return in.texts(in.scanner.Text(text), "", where)
}

// texts are hits as findings. A file's name is not repeated where it is the secret.
func (in *Inspector) texts(hits []secretscan.Hit, file, where string) []ralph.Finding {
	var found []ralph.Finding
	for _, h := range hits {
		kind, grave := ralph.FindingSecret, in.formats
		switch h.Rule {
		case secretscan.KnownRule:
			grave = ralph.Block
		case secretscan.FloodRule: // what is known may lie behind it
			grave = cmp.Or(in.formats, ralph.Block)
		case secretscan.UnsearchedRule:
			kind, grave = ralph.FindingUnknown, ralph.Flag
		}
		found = append(found, ralph.Finding{
			Kind: kind, Severity: grave, Path: file, Line: h.Line, Where: where, Rule: h.Rule, Text: h.Text,
		})
	}
	return found
}

// What looks at the whole work reads small files only, and remembers them.
const (
	maxVersion  = 1 << 20
	maxVersions = 64 << 20
)

// keep remembers the whole work for weakened.
func (in *Inspector) keep(ctx context.Context, total []inspection.Changed) error {
	in.work, in.unseen = in.work[:0], 0
	in.forget(total)
	for _, c := range total {
		if c.OldMode == inspection.ModeRepository || c.NewMode == inspection.ModeRepository {
			continue // nothing to read
		}
		before, small, err := in.version(ctx, c.OldID, c.OldSize, c.Old)
		if err != nil {
			return err
		}
		now, fits, err := in.version(ctx, c.NewID, c.NewSize, c.New)
		if err != nil {
			return err
		}
		if !small || !fits {
			if c.OldSize <= maxVersion && c.NewSize <= maxVersion { // else it is no test that people read
				in.unseen++
			}
			continue
		}
		in.work = append(in.work, testintegrity.File{
			Path: c.Path, From: c.From, Old: before, New: now,
			Deleted: c.NewMode == inspection.ModeNone, Added: c.OldMode == inspection.ModeNone && c.From == "",
		})
	}
	return nil
}

// Weakened finds out whether tests and checks say less than before, in the work
// as it was when somebody looked last, and counts what became of tests.
func (in *Inspector) Weakened(base func(path string) []byte) ([]ralph.Finding, testintegrity.Tests) {
	o := in.options
	o.Base = base
	found, tests := testintegrity.Look(in.work, o)
	if in.unseen > 0 {
		found = append(found, ralph.Finding{
			Kind: ralph.FindingUnknown, Severity: ralph.Flag, Where: "the work as a whole", Rule: "too large",
			Text: fmt.Sprintf("%d files were not looked at for weakened tests: the work is larger than 64 MiB", in.unseen),
		})
	}
	return found, tests
}

// forget drops the versions that the work has no more.
func (in *Inspector) forget(total []inspection.Changed) {
	used := map[string]bool{}
	for _, c := range total {
		used[c.OldID], used[c.NewID] = true, true
	}
	for id, data := range in.versions {
		if !used[id] {
			in.kept -= int64(len(data))
			delete(in.versions, id)
		}
	}
}

// version is a content that is small enough; ok is false for others.
func (in *Inspector) version(ctx context.Context, id string, size int64, read func(context.Context) ([]byte, error)) (data []byte, ok bool, err error) {
	if id == "" {
		return nil, true, nil
	}
	if data, ok := in.versions[id]; ok {
		return data, true, nil
	}
	if size > maxVersion || in.kept > maxVersions {
		return nil, false, nil
	}
	data, err = read(ctx)
	if errors.Is(err, objects.ErrNoContent) || err == nil && len(data) > maxVersion {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	in.versions[id] = data
	in.kept += int64(len(data))
	return data, true, nil
}

// LeftOut are the findings about what is not published.
func (in *Inspector) LeftOut(list []inspection.LeftOut) []ralph.Finding {
	var found []ralph.Finding
	for _, l := range list {
		f := ralph.Finding{Kind: ralph.FindingUnfit, Severity: ralph.LeftOut, Path: l.Path, Text: l.Reason}
		if l.Reason == "" {
			f = in.policy.LeftOut(file(l.Changed))
		}
		found = append(found, f)
	}
	return found
}

// GuardsWorkflows reports whether changes of workflows block, so that none is left
// out in silence.
func (in *Inspector) GuardsWorkflows() bool {
	return in.policy.OnProtected == ralph.Block && in.policy.Protected.Match(".github/workflows/any.yml") != ""
}

// files are what a policy judges.
func files(changes []inspection.Changed) []content.File {
	list := make([]content.File, len(changes))
	for i, c := range changes {
		list[i] = file(c)
	}
	return list
}

func file(c inspection.Changed) content.File {
	return content.File{Path: c.Path, From: c.From, OldMode: uint32(c.OldMode), NewMode: uint32(c.NewMode), Size: c.NewSize, Commit: c.Commit}
}

// Sorted puts the gravest first, and drops what was found twice.
func Sorted(found []ralph.Finding) []ralph.Finding {
	const last = "\xff" // what is about no file, such as a sum, stands behind files
	grave := []ralph.Severity{ralph.Block, ralph.LeftOut, ralph.Draft, ralph.Flag}
	slices.SortStableFunc(found, func(a, b ralph.Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(grave, a.Severity), slices.Index(grave, b.Severity)),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(cmp.Or(a.Path, last), cmp.Or(b.Path, last)), cmp.Compare(a.Line, b.Line))
	})
	// A file that is protected is named once. The rule of what only says that a file
	// configures checks is its name; others say what of it.
	protected, configures := map[string]bool{}, map[string]bool{}
	for _, f := range found {
		protected[f.Path] = protected[f.Path] || f.Kind == ralph.FindingProtected
	}
	found = slices.DeleteFunc(found, func(f ralph.Finding) bool {
		switch f.Kind {
		case ralph.FindingChecks:
			return protected[f.Path] && f.Rule == path.Base(f.Path)
		case ralph.FindingAgentConfig:
			again := configures[f.Path] || protected[f.Path]
			configures[f.Path] = true
			return again
		}
		return false
	})
	return slices.Compact(found)
}

// short is a commit id for people.
func short(id string) string { return id[:min(7, len(id))] }
