package hook

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/org/ralph-action/internal/lib/printable"
)

const (
	// DefaultWindow is the size of the context in tokens when nobody says another.
	DefaultWindow = 200_000
	// charsPerToken is the rule of thumb: one token is four bytes of transcript.
	// A transcript is not cut when the CLI compacts, so the estimate is high
	// afterwards: alerts come early rather than late.
	charsPerToken = 4
	maxWindow     = 1 << 40
)

// Threshold is one alert, at a percentage of the window.
type Threshold struct {
	Percent  int
	Severity string
	Text     string
}

const (
	noticeText   = "Be mindful of remaining space. Plan to finish your current task within this session. If you discover follow-up work, add new stories to tasks.json — the next iteration will pick them up."
	warningText  = "Finish your current task and commit soon. Do not start additional tasks. If work remains, create new stories in tasks.json for the next iteration and capture any implementation details or insights in progress.txt so the next iteration has full context."
	criticalText = "Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any remaining work, (2) write implementation details, insights, and handoff notes to progress.txt, (3) commit all changes, (4) stop. The next iteration will continue from where you left off."
)

// Thresholds lists the alerts, the lowest first.
func Thresholds() []Threshold {
	return []Threshold{
		{50, "NOTICE", noticeText}, {60, "NOTICE", noticeText},
		{70, "WARNING", warningText}, {80, "WARNING", warningText},
		{90, "CRITICAL", criticalText},
	}
}

// Monitor tells the agent how full its context is, once per threshold and
// session. Of several thresholds passed at once only the highest speaks.
type Monitor struct {
	Dir    string // where the state file is; empty: /tmp
	Window int64  // tokens; zero: DefaultWindow
}

// ParseWindow reads CLAUDE_CONTEXT_WINDOW. The empty string is zero, which
// means DefaultWindow.
func ParseWindow(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > maxWindow {
		return 0, fmt.Errorf("CLAUDE_CONTEXT_WINDOW is %q; a number of tokens such as %d would be right", printable.Clean(s, 40), DefaultWindow)
	}
	return n, nil
}

func (m Monitor) answer(in Input) Answer {
	if in.AgentID != "" {
		return Answer{} // a subagent has its own context; the file is its parent's
	}
	if in.TranscriptPath == "" {
		return warn("the hook input names no transcript; context use is unknown")
	}
	info, err := os.Lstat(in.TranscriptPath)
	if err != nil {
		return warn("context use is unknown: " + err.Error())
	}
	if !info.Mode().IsRegular() {
		return warn(fmt.Sprintf("context use is unknown: %q is no regular file", printable.Clean(in.TranscriptPath, 200)))
	}
	window := m.Window
	if window <= 0 {
		window = DefaultWindow
	}
	percent := int(min(info.Size()/charsPerToken*100/window, 999))
	all := Thresholds()
	if percent < all[0].Percent {
		return Answer{}
	}
	last, err := m.raise(in.SessionID, percent)
	if err != nil {
		return warn("context alerts are off: " + err.Error())
	}
	var due Threshold
	for _, t := range all {
		if percent >= t.Percent && t.Percent > last {
			due = t
		}
	}
	if due.Percent == 0 {
		return Answer{}
	}
	return Answer{Context: fmt.Sprintf("%s: about %d%% of the context window is in use. %s", due.Severity, percent, due.Text)}
}

// clear arms the thresholds again for a new session. After a compaction the
// session is the same one, and its transcript as long as before.
func (m Monitor) clear(in Input) Answer {
	if in.Source == "compact" {
		return Answer{}
	}
	path, err := m.path(in.SessionID)
	if err != nil {
		return warn(err.Error())
	}
	// unlink takes a link away, never what it points to, and no directory.
	if err := syscall.Unlink(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return warn("context alerts stay as they were: " + err.Error())
	}
	return Answer{}
}

// path names the state file.
func (m Monitor) path(session string) (string, error) {
	if err := CheckSessionID(session); err != nil {
		return "", err
	}
	dir := m.Dir
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, "claude-context-alerts-"+session), nil
}

// raise records percent as alerted and returns what was recorded before. Two
// hooks at once (parallel tools) take turns. A file that is not ours alone,
// or a link, is not touched.
func (m Monitor) raise(session string, percent int) (int, error) {
	path, err := m.path(session)
	if err != nil {
		return 0, err
	}
	f, err := openState(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || ok && (stat.Nlink != 1 || int(stat.Uid) != os.Geteuid()) {
		return 0, fmt.Errorf("%s is not a file of ours", path)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return 100, nil // another hook is alerting this very moment
	}
	last := 0
	lines := bufio.NewScanner(io.LimitReader(f, 4096))
	for lines.Scan() {
		if n, err := strconv.Atoi(strings.TrimSpace(lines.Text())); err == nil {
			last = max(last, n)
		}
	}
	var fired []byte
	for _, t := range Thresholds() {
		if t.Percent > last && t.Percent <= percent {
			fired = fmt.Appendf(fired, "%d\n", t.Percent)
		}
	}
	if len(fired) == 0 {
		return last, nil
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return 0, err
	}
	if _, err := f.Write(fired); err != nil {
		return 0, err
	}
	return last, nil
}

func openState(path string) (*os.File, error) {
	const flags = os.O_RDWR | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return os.OpenFile(path, flags, 0)
	}
	return f, err
}

func warn(text string) Answer { return Answer{Warnings: []string{printable.Clean(text, 500)}} }
