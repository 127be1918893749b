package prompt

import "strings"

// Expand replaces $NAME and ${NAME} by the values of the declared names. What is
// not declared stays as it is, and values are not expanded again.
func Expand(text string, values map[string]string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		name, length := variable(text)
		value, declared := values[name]
		if !declared {
			value, length = "$", 1
		}
		b.WriteString(value)
		text = text[length:]
	}
	b.WriteString(text)
	return b.String()
}

// variable is the name that text, which begins with $, refers to, and how many
// bytes the reference has.
func variable(text string) (name string, length int) {
	rest, braced := strings.CutPrefix(text[1:], "{")
	n := 0
	for n < len(rest) && (rest[n] == '_' || isLetter(rest[n]) || n > 0 && rest[n] >= '0' && rest[n] <= '9') {
		n++
	}
	switch {
	case !braced:
		return rest[:n], 1 + n
	case n < len(rest) && rest[n] == '}':
		return rest[:n], 3 + n
	}
	return "", 1
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
