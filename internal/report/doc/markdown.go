package doc

import (
	"strings"
	"unicode/utf8"
)

// markdownWords are texts as GitHub-flavoured Markdown, summaryWords inside of an
// HTML element of it, where Markdown does not apply.
func markdownWords() wording {
	return wording{foreign: inline, mono: code, tight: unbroken, strong: [2]string{"**", "**"}, link: link, newline: "<br>"}
}

func summaryWords() wording {
	return wording{
		foreign: htmlText, mono: func(s string, limit int) string { return "<code>" + htmlText(s, limit) + "</code>" },
		tight: unbroken, strong: [2]string{"<b>", "</b>"}, link: func(label, _ string) string { return label }, newline: "<br>",
	}
}

// Markdown is the text in Markdown.
func (t Text) Markdown() string { return markdownWords().text(t) }

// Markdown joins sections to a document of at most limit bytes, which are never
// fewer than the characters that a forge counts. What does not fit is left out and
// named at the end.
func Markdown(limit int, mark string, sections []Section) string {
	const leftOut = "\n> [!NOTE]\n> Left out for length: "
	var b strings.Builder
	var missing []string
	room := limit - len(leftOut)
	for _, s := range sections {
		room -= len(s.name()) + 2
	}
	for _, s := range sections {
		level := "### "
		if len(s.Blocks) == 0 {
			level = mark
		}
		text := strings.Trim(s.markdown(level), "\n")
		if text == "" {
			continue
		}
		if b.Len()+len(text)+2 > room {
			missing = append(missing, s.name())
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

func (s Section) name() string {
	if s.Name != "" {
		return s.Name
	}
	return strings.ToLower(s.Title.Plain())
}

func (s Section) markdown(level string) string {
	body := markdownBlocks(s.Blocks)
	switch {
	case len(s.Fold) > 0:
		return details(s.Fold, body)
	case len(s.Title) > 0:
		return level + s.Title.Markdown() + "\n\n" + body
	}
	return body
}

func markdownBlocks(blocks []Block) string {
	parts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		parts = append(parts, b.Markdown())
	}
	return strings.Join(parts, "\n")
}

// Markdown is the block in Markdown.
func (b Block) Markdown() string {
	lines := make([]string, 0, len(b.Lines))
	for _, t := range b.Lines {
		lines = append(lines, t.Markdown())
	}
	switch b.Kind {
	case paraBlock:
		return b.Text.Markdown() + "\n"
	case softBlock:
		return "_" + b.Text.Markdown() + "_\n"
	case smallBlock:
		return "<sub>" + b.Text.Markdown() + "</sub>\n"
	case TitleBlock:
		return "### " + b.Text.Markdown() + "\n"
	case ListBlock:
		return "- " + strings.Join(lines, "\n- ") + "\n"
	case LinesBlock:
		return strings.Join(lines, "\n") + "\n"
	case CautionBlock, WarningBlock:
		return "> [!" + strings.ToUpper(string(b.Kind)) + "]\n> " + strings.Join(lines, "\n>\n> ") + "\n"
	case preBlock:
		return fence(b.Pre)
	case foldBlock:
		return details(b.Text, markdownBlocks(b.Blocks))
	case FactsBlock:
		var facts []string
		for _, f := range b.Facts {
			text := f.Text.Markdown()
			if !f.Plain {
				text = "**" + f.Name + "** " + text
			}
			facts = append(facts, text)
		}
		return strings.Join(facts, " · ") + "\n"
	case GridBlock:
		return b.Grid.told().markdown()
	case ChartBlock:
		return b.Chart.mermaid()
	case TimesBlock:
		return b.Times.mermaid()
	}
	return ""
}

// details folds a Markdown text.
func details(summary Text, body string) string {
	return "<details><summary>" + summaryWords().text(summary) + "</summary>\n\n" + strings.Trim(body, "\n") + "\n\n</details>\n"
}

func (g Grid) markdown() string {
	var b strings.Builder
	b.WriteByte('|')
	for _, c := range g.Columns {
		b.WriteString(" " + widened(c.Title, c.Room) + " |")
	}
	b.WriteString("\n|")
	for _, c := range g.Columns {
		if c.Right {
			b.WriteString("--:|")
		} else {
			b.WriteString(":--|")
		}
	}
	b.WriteByte('\n')
	for _, cells := range g.Rows {
		b.WriteString(MarkdownRow(cells))
	}
	if g.Total != nil {
		cells := make([]Text, len(g.Total))
		for i, t := range g.Total {
			if len(t) > 0 {
				cells[i] = Line(Strong(t))
			}
		}
		b.WriteString(MarkdownRow(cells))
	}
	return b.String()
}

// MarkdownRow is a row of a table in Markdown.
func MarkdownRow(cells []Text) string {
	row := "|"
	for _, t := range cells {
		if cell := t.Markdown(); cell != "" {
			row += " " + cell
		}
		row += " |"
	}
	return row + "\n"
}

// widened is the title of a column that is as wide as a text of n runes, for
// texts that would else be broken at a hyphen. Invisible characters in the text
// itself would be copied with it.
func widened(title string, n int) string {
	if n == 0 {
		return title
	}
	missing := min(n, 20) - utf8.RuneCountInString(title)
	return title + strings.Repeat("\u00a0", max(0, missing*8/5+1)) // narrower than a letter
}

// unbroken keeps a number and what belongs to it on one line.
func unbroken(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }
