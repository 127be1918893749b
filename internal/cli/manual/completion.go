// Package manual makes completion for shells, and the man page, from the commands and
// flags of the program.
package manual

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Each script hands the words of the line, up to the cursor, to `ralph complete`, which
// answers with a candidate and what it means per line, or with fileMark alone.
var scripts = map[string]string{
	"bash": `_ralph() {
	local line
	COMPREPLY=()
	while IFS= read -r line; do
		if [ "$line" = ':file' ]; then
			compopt -o default 2>/dev/null
			return
		fi
		line=${line%%$'\t'*}
		[ "${line%=}" = "$line" ] || compopt -o nospace 2>/dev/null
		COMPREPLY+=("$line")
	done < <("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _ralph ralph
`,
	"zsh": `#compdef ralph
_ralph() {
	local line candidate
	while IFS= read -r line; do
		if [[ $line == ':file' ]]; then
			compset -P '--*='
			_files
			return
		fi
		candidate=${line%%$'\t'*}
		if [[ $candidate == *= ]]; then
			compadd -S '' -- "$candidate"
		else
			compadd -- "$candidate"
		fi
	done < <("${words[1]}" complete --whole "${(@)words[2,CURRENT]}" 2>/dev/null)
}
compdef _ralph ralph
`,
	"fish": `function __ralph_complete
	set -l tokens (commandline -opc) (commandline -ct)
	set -l found ($tokens[1] complete --whole $tokens[2..-1] 2>/dev/null)
	if test "$found" = ':file'
		set -l flag (string match -r -- '^--[^=]*=' (commandline -ct); or echo '')
		for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' (commandline -ct)))
			echo $flag$path
		end
		return
	end
	printf '%s\n' $found
end
complete -c ralph -f -a '(__ralph_complete)'
`,
}

// Script is what a shell reads: bash, zsh or fish.
func Script(shell string) string { return scripts[shell] }

// fileMark stands for the names of files, which the shell knows.
const fileMark = ":file"

// Candidates are what may stand in the place of the last of words, which need not be a
// whole command line: each with what it means, after a tab.
func Candidates(model *kong.Application, words []string) []string {
	whole := len(words) > 0 && words[0] == "--whole" // --flag=value is one word, and completed as one
	if whole {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	words, last := words[:len(words)-1], words[len(words)-1]
	if last == "=" { // bash: a word of its own
		words, last = append(slices.Clone(words), last), ""
	}
	at, waiting, named, arguments := model.Node, (*kong.Flag)(nil), false, 0
	for _, word := range words {
		name, _, assigned := strings.Cut(word, "=")
		switch next := child(at.Children, word); {
		case word == "=" && waiting != nil:
		case waiting != nil:
			waiting = nil
		case word == "--":
			return []string{fileMark}
		case strings.HasPrefix(word, "-"):
			if f := flag(at, name); f != nil && !assigned && !f.IsBool() {
				waiting = f
			}
		case next != nil && arguments == 0:
			at, named = next, true
		default:
			arguments++
		}
	}
	if name, value, assigned := strings.Cut(last, "="); waiting == nil && assigned && strings.HasPrefix(name, "--") {
		f := flag(at, name)
		if f == nil {
			return nil
		}
		prefix := ""
		if whole {
			prefix = name + "="
		}
		return values(f.Value, value, prefix)
	}
	if waiting != nil {
		return values(waiting.Value, last, "")
	}
	var found []string
	offer := func(word, help string) {
		if strings.HasPrefix(word, last) {
			first, _, _ := strings.Cut(help, ". ")
			found = append(found, strings.TrimSpace(word+"\t"+strings.Join(strings.Fields(first), " ")))
		}
	}
	if strings.HasPrefix(last, "-") {
		for _, group := range flagsOf(at, named).AllFlags(true) {
			for _, f := range group {
				offer("--"+f.Name, f.Help)
			}
		}
		return found
	}
	for _, command := range at.Children {
		if !command.Hidden && arguments == 0 {
			offer(command.Name, command.Help)
		}
	}
	if len(at.Children) == 0 && arguments < len(at.Positional) {
		return values(at.Positional[arguments], last, "")
	}
	return found
}

// flagsOf is the node whose flags may be given: without a command those of the default.
func flagsOf(at *kong.Node, named bool) *kong.Node {
	if !named && at.DefaultCmd != nil {
		return at.DefaultCmd
	}
	return at
}

func child(nodes []*kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(nodes, func(n *kong.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return nodes[i]
}

// flag is what a node knows by a name with its dashes; nil if it knows none.
func flag(at *kong.Node, name string) *kong.Flag {
	for _, group := range flagsOf(at, at.Type == kong.CommandNode).AllFlags(false) {
		for _, f := range group {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// values are those of a flag or an argument that begin so.
func values(v *kong.Value, begin, prefix string) []string {
	if v.Tag.Has("file") {
		return []string{fileMark}
	}
	var found []string
	for _, value := range strings.Split(v.Tag.Get("values")+v.Enum, ",") {
		if value != "" && strings.HasPrefix(value, begin) {
			found = append(found, prefix+value)
		}
	}
	return found
}
