package doc

import "testing"

func TestRich(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                        "",
		"Words,\non *two* lines.": "Words,<br>on two lines.\n",
		"A long line of many words that was wrapped where it was full,\nin *two*.":         "A long line of many words that was wrapped where it was full, in two.\n",
		"# Why\n\nIt was **wrong**, see `a.go` and <b>x</b>.":                              "**Why**\n\nIt was **wrong**, see `a.go` and &#60;b&#62;x&#60;/b&#62;.\n",
		"- one\n  - `in`\n\n- two\n\n1. a\n2. b\n":                                         "- one\n- `in`\n- two\n\n- 1\\. a\n- 2\\. b\n",
		"```js\nMath.round(x)\n```\n":                                                      "```text\nMath.round(x)\n```\n",
		"| a | b |\n|---|---|\n| c | d |\n":                                                "- a · b\n- c · d\n",
		"> [!NOTE]\n> quoted":                                                              "\\[\\!NOTE\\]<br>quoted\n",
		"[docs](https://x.example/a) ![pic](http://y.example/p.png) <https://z.example>":   "docs (`x.example`) pic (`y.example`) https:\u200d//z.example\n",
		"@org/team fixes #12 &#64;a \\#3":                                                  "@\u200dorg/team fixes \\#\u200d12 @\u200da \\#\u200d3\n",
		"see #*1* and https:*//x.example*":                                                 "see \\#\u200d1 and https:\u200d//x.example\n",
		"GH-[](x)12 #[](x)13 [#](x)12 https:/[/](x)h.example/1 see [https:/](x)/x.example": "GH-\u200d12 \\#\u200d13 \\#\u200d12 https:\u200d//h.example/1 see https:\u200d//x.example\n",
		"<!-- hidden -->\n":                                                                "&#60;\\!-- hidden --&#62;\n",
		"---\n\n## **a** b":                                                                "**a b**\n",
	} {
		if got := markdownBlocks(Rich(in, 1000)); got != want {
			t.Errorf("Rich(%q) = %q, want %q", in, got, want)
		}
	}
	if got := markdownBlocks(Rich("one two three", 7)); got != "one two\n\n_Cut here; report.json has all of it._\n" {
		t.Errorf("Rich() of a long text = %q, want it cut", got)
	}
}
