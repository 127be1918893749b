package fakegithub

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Limits are those of "Rate limits for the REST API" on docs.github.com. Zero:
// none of that kind.
type Limits struct {
	PerHour       int // requests of one token: 5,000; of GITHUB_TOKEN 1,000 per repository
	PerMinute     int // points: 900; a question is 1, everything else 5
	AtOnce        int // requests at a time: 100
	ContentMinute int // requests that make content: 80
	ContentHour   int // 500
	// Speed makes the clock run faster: 60 is an hour in a minute. 0 means 1.
	Speed float64
}

// GitHubLimits are the documented ones for GITHUB_TOKEN.
func GitHubLimits(speed float64) *Limits {
	return &Limits{PerHour: 1000, PerMinute: 900, AtOnce: 100, ContentMinute: 80, ContentHour: 500, Speed: speed}
}

// limiter counts in windows that begin with the first request after the last one.
type limiter struct {
	limits Limits

	mu      sync.Mutex
	atOnce  int
	most    int
	windows map[string]*window
	refused map[string]int
}

type window struct {
	until time.Time
	used  int
}

func newLimiter(l Limits) *limiter {
	if l.Speed == 0 {
		l.Speed = 1
	}
	return &limiter{limits: l, windows: map[string]*window{}, refused: map[string]int{}}
}

// spend takes n from a window; false: it is empty until the time returned.
func (l *limiter) spend(name string, of time.Duration, limit, n int, at time.Time) (*window, bool) {
	w := l.windows[name]
	if w == nil || !at.Before(w.until) {
		w = &window{until: at.Add(time.Duration(float64(of) / l.limits.Speed))}
		l.windows[name] = w
	}
	if limit > 0 && w.used+n > limit {
		return w, false
	}
	w.used += n
	return w, true
}

// creates says that a request makes content that people are told of.
func creates(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	return !strings.Contains(r.URL.Path, "/git/") && r.URL.Path != "/graphql"
}

const (
	secondary = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	primary   = "API rate limit exceeded for installation."
)

// take lets a request in, or answers it. done must be called when it is over.
func (l *limiter) take(w http.ResponseWriter, r *http.Request, token string, at time.Time) (done func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	points := 1
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		points = 5
	}
	refuse := func(kind string, until time.Time) (func(), bool) {
		l.refused[kind]++
		wait := max(1, int(math.Ceil(time.Until(until).Seconds())))
		w.Header().Set("Retry-After", fmt.Sprint(wait))
		forbidden(secondary).send(w)
		return nil, false
	}
	if l.limits.AtOnce > 0 && l.atOnce >= l.limits.AtOnce {
		return refuse("at once", at.Add(time.Second))
	}
	hour, ok := l.spend("hour "+token, time.Hour, l.limits.PerHour, 1, at)
	if l.limits.PerHour > 0 {
		w.Header().Set("X-RateLimit-Limit", fmt.Sprint(l.limits.PerHour))
		w.Header().Set("X-RateLimit-Remaining", fmt.Sprint(l.limits.PerHour-hour.used))
		w.Header().Set("X-RateLimit-Used", fmt.Sprint(hour.used))
		w.Header().Set("X-RateLimit-Reset", fmt.Sprint(hour.until.Unix()+1))
		w.Header().Set("X-RateLimit-Resource", "core")
	}
	if !ok {
		l.refused["per hour"]++
		w.Header().Set("X-RateLimit-Remaining", "0")
		forbidden(primary).send(w)
		return nil, false
	}
	if win, ok := l.spend("minute "+token, time.Minute, l.limits.PerMinute, points, at); !ok {
		return refuse("points", win.until)
	}
	if creates(r) {
		if win, ok := l.spend("content minute "+token, time.Minute, l.limits.ContentMinute, 1, at); !ok {
			return refuse("content per minute", win.until)
		}
		if win, ok := l.spend("content hour "+token, time.Hour, l.limits.ContentHour, 1, at); !ok {
			return refuse("content per hour", win.until)
		}
	}
	l.atOnce++
	l.most = max(l.most, l.atOnce)
	return func() { l.mu.Lock(); l.atOnce--; l.mu.Unlock() }, true
}

// Refused says how often each limit refused a request.
func (f *Forge) Refused() map[string]int {
	if f.limit == nil {
		return nil
	}
	f.limit.mu.Lock()
	defer f.limit.mu.Unlock()
	return maps.Clone(f.limit.refused)
}
