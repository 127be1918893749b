// Story is a command of the scripts: what an agent does to a task list. It is no command
// of the test binary, which takes ten times as long to start.
//
// An agent that prints plain text says its verdict by it, too.
//
//	story FILE ID get FIELD | FILE ID delete | FILE add JSON | FILE ID FIELD JSON …
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := story(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "story:", err)
		os.Exit(1)
	}
}

func story(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("too few arguments: %q", args)
	}
	file, id, args := args[0], args[1], args[2:]
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var list map[string]any
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	stories := list["userStories"].([]any)
	i := slices.IndexFunc(stories, func(s any) bool { return s.(map[string]any)["id"] == id })
	switch {
	case id == "add":
		var s any
		if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
			return err
		}
		stories = append(stories, s)
	case i < 0:
		return fmt.Errorf("no story %q", id)
	case args[0] == "get":
		fmt.Println(stories[i].(map[string]any)[args[1]])
		return nil
	case args[0] == "delete":
		stories = slices.Delete(stories, i, i+1)
	default:
		for ; len(args) > 1; args = args[2:] {
			var value any
			if err := json.Unmarshal([]byte(args[1]), &value); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			stories[i].(map[string]any)[args[0]] = value
			if args[0] == "reviewStatus" && (value == "approved" || value == "changes_requested") {
				fmt.Printf("<verdict>%s</verdict>\n", strings.ReplaceAll(value.(string), "_", " ")) // as a reviewer would say it
			}
		}
	}
	list["userStories"] = stories
	if data, err = json.MarshalIndent(list, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
