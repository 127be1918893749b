package report

import "strings"

// section is a part of a document that is kept whole or left out whole.
type section struct {
	name string
	text string
}

const leftOut = "\n> [!NOTE]\n> Left out for length: "

// assemble joins the sections in order, within limit bytes. Bytes are never
// fewer than the characters a forge counts. What does not fit is left out and
// named at the end.
func assemble(limit int, sections []section) string {
	var b strings.Builder
	var missing []string
	room := limit - len(leftOut)
	for _, s := range sections {
		room -= len(s.name) + 2
	}
	for _, s := range sections {
		text := strings.Trim(s.text, "\n")
		if text == "" {
			continue
		}
		if b.Len()+len(text)+2 > room {
			missing = append(missing, s.name)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	if len(missing) > 0 {
		b.WriteString(leftOut + strings.Join(missing, ", ") + ".\n")
	}
	return b.String()
}

// details folds a Markdown text; summary is HTML already.
func details(summary, body string) string {
	return "<details><summary>" + summary + "</summary>\n\n" + strings.Trim(body, "\n") + "\n\n</details>\n"
}

// alert is a GitHub alert box; text is one line of Markdown.
func alert(kind string, lines ...string) string {
	if len(lines) == 0 {
		return ""
	}
	return "> [!" + kind + "]\n> " + strings.Join(lines, "\n>\n> ") + "\n"
}

func bullets(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "- " + strings.Join(lines, "\n- ") + "\n"
}
