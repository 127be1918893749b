// Package doc is what documents are made of: sections, blocks and texts, and how
// they look as Markdown, as a page of HTML and on a terminal. Words that are not
// ours are told apart from ours, and made harmless by the rendering: nothing in
// them becomes markup, a mention, a reference or a control character.
package doc
