package starter

import "github.com/org/ralph-action/internal/lib/lazyregexp"

// hidden stands where a secret was.
const hidden = "***"

var (
	secretKey = lazyregexp.New(`(?i)(secret|passw|passphrase|api[-_]?key|private[-_]?key|access[-_]?key|credential|auth|bearer|token$)`)
	openKey   = lazyregexp.New(`(?i)^completion`) // completionToken is what the agent says
	// secretFlag is a flag whose value is the next word.
	secretFlag = lazyregexp.New(`(?i)^--?[\w-]*(key|token|secret|password)$`)
	// assigned is a value after its name: --api-key …, token=…, "X-Api-Key: …".
	assigned = lazyregexp.New(`(?i)(--[\w-]*(?:key|token|secret|password)\s+|(?:api[-_]?key|token|secret|password|authorization)\s*[=:]\s*(?:bearer\s+)?|bearer\s+)[^\s"']+`)
	// issued are the shapes of keys that providers give out.
	issued = lazyregexp.New(`\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|AKIA[A-Z0-9]{16}|xox[a-z]-[A-Za-z0-9-]{10,}|AIza[\w-]{30,})`)
)

// mask hides what looks like a secret, by the key's name or the text's shape:
// settings are shown on a screen that others may see.
func mask(v any) any {
	switch v := v.(type) {
	case document:
		masked := document{}
		for key, below := range v {
			if secretKey.MatchString(key) && !openKey.MatchString(key) {
				masked[key] = blot(below)
			} else {
				masked[key] = mask(below)
			}
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		for i, element := range v {
			masked[i] = mask(element)
			if i > 0 {
				if flag, ok := v[i-1].(string); ok && secretFlag.MatchString(flag) {
					masked[i] = blot(element)
				}
			}
		}
		return masked
	case string:
		return issued.ReplaceAllString(assigned.ReplaceAllString(v, "${1}"+hidden), hidden)
	}
	return v
}

// blot hides every value below; what is absent, empty, true or false tells
// nothing.
func blot(v any) any {
	switch v := v.(type) {
	case document:
		masked := document{}
		for key, below := range v {
			masked[key] = blot(below)
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		for i, element := range v {
			masked[i] = blot(element)
		}
		return masked
	case bool, nil:
		return v
	case string:
		if v == "" {
			return v
		}
	}
	return hidden
}
