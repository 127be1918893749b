package starter_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/cli/starter"
)

// project is a folder with files in it.
func project(t *testing.T, nameThenText ...string) (*starter.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(nameThenText); i += 2 {
		path := filepath.Join(dir, nameThenText[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(nameThenText[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := starter.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder, dir
}

// tree lists what is below a folder.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if rel != "." {
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// 001-07, 001-36
func TestExisting(t *testing.T) {
	t.Parallel()
	const file, local = ".ralph/settings.json", ".ralph/settings.local.json"
	for _, tc := range []struct {
		name     string
		files    []string
		text     string
		local    bool
		problems []string
	}{
		{"one file", []string{file, `{"maximumIterations":3,"agent":{"flags":[],"command":"a && <b>"},"extra":{}}`},
			"{\n  \"agent\": {\n    \"command\": \"a && <b>\",\n    \"flags\": []\n  },\n  \"extra\": {},\n  \"maximumIterations\": 3\n}", false, nil},
		{"arrays replace, objects merge", []string{
			file, `{"agent":{"command":"claude","flags":["--model opus"]},"maximumIterations":10}`,
			local, `{"agent":{"flags":["--verbose"]},"maximumIterations":1e2,"new":null}`,
		}, "{\n  \"agent\": {\n    \"command\": \"claude\",\n    \"flags\": [\n      \"--verbose\"\n    ]\n  },\n  \"maximumIterations\": 1e2,\n  \"new\": null\n}", true, nil},
		{"an object gives way to a word and back", []string{file, `{"a":{"b":1},"c":2}`, local, `{"a":1,"c":{"d":3}}`},
			"{\n  \"a\": 1,\n  \"c\": {\n    \"d\": 3\n  }\n}", true, nil},
		{"broken", []string{file, "{\n  \"ä\": 1,\n  \"ö\": x\n}"}, "", false, []string{".ralph/settings.json:3:8: invalid character 'x' looking for beginning of value"}},
		{"empty", []string{file, ""}, "", false, []string{".ralph/settings.json:1:1: unexpected end of JSON input"}},
		{"no object", []string{file, "[]"}, "", false, []string{".ralph/settings.json:1:1: settings are an object, {…}"}},
		{"broken overlay", []string{file, `{"a":1}`, local, "{,}"}, "{\n  \"a\": 1\n}", false,
			[]string{".ralph/settings.local.json:1:2: invalid character ',' looking for beginning of object key string"}},
		{"too deep", []string{file, strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)}, "", false, []string{".ralph/settings.json: it nests deeper than 32 levels"}},
		{"too large", []string{file, `{"a":"` + strings.Repeat("x", 64<<10) + `"}`}, "", false, []string{".ralph/settings.json is larger than 65536 bytes"}},
		{"secrets", []string{file, `{"apiKey":"abc","env":{"GITHUB_TOKEN":"t","PASSWORD":"","auth":{"user":["u"],"on":true}},"completionToken":"OK","maxTokens":5,
			"agent":{"command":"API_KEY=k claude","flags":["--api-key","k","--token=t2","--header \"Authorization: Bearer b\"","sk-ant-api03-abcdefghijkl","--model"]},
			"guardrails":[{"command":"make test","hint":"mend the token parser"}]}`},
			`{
  "agent": {
    "command": "API_KEY=*** claude",
    "flags": [
      "--api-key",
      "***",
      "--token=***",
      "--header \"Authorization: Bearer ***\"",
      "***",
      "--model"
    ]
  },
  "apiKey": "***",
  "completionToken": "OK",
  "env": {
    "GITHUB_TOKEN": "***",
    "PASSWORD": "",
    "auth": {
      "on": true,
      "user": [
        "***"
      ]
    }
  },
  "guardrails": [
    {
      "command": "make test",
      "hint": "mend the token parser"
    }
  ],
  "maxTokens": 5
}`, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			folder, _ := project(t, tc.files...)
			e, err := folder.Existing()
			if err != nil || !e.Found {
				t.Fatalf("Existing = %+v, %v", e, err)
			}
			if e.Text != tc.text || e.Local != tc.local || !slices.Equal(e.Problems, tc.problems) {
				t.Errorf("Existing =\n%s\nlocal %v, problems %q, want\n%s\n%v, %q", e.Text, e.Local, e.Problems, tc.text, tc.local, tc.problems)
			}
		})
	}
}

func TestExistingNone(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{"nothing": nil, "an overlay alone": {".ralph/settings.local.json", "{}"}, "an empty folder": {".ralph/lock", ""}} {
		folder, _ := project(t, files...)
		if e, err := folder.Existing(); err != nil || e.Found {
			t.Errorf("%s: Existing = %+v, %v, want none", name, e, err)
		}
	}
}

// The file is the one of the format's description, to the letter. 001-08, 001-09
func TestWriteSettings(t *testing.T) {
	t.Parallel()
	folder, dir := project(t)
	s := starter.Defaults()
	s.Agent = starter.Agent{Command: "claude", Flags: []string{"--model opus", "--no-auto-compact"}}
	s.Guardrails = []starter.Guardrail{{Command: "make lint && make vet", FailAction: starter.Append, Hint: "Only <lint>."}, {Command: "make test", FailAction: starter.Replace}}
	s.SCM = &starter.SCM{Command: "git", Tasks: []string{"commit", "push"}}
	if err := folder.WriteSettings(s, false); err != nil {
		t.Fatal(err)
	}
	const want = `{
  "$schema": "settings.schema.json",
  "maximumIterations": 10,
  "completionResponse": "DONE",
  "outputTruncateChars": 5000,
  "streamAgentOutput": true,
  "includeIterationCountInPrompt": false,
  "agent": {
    "command": "claude",
    "flags": [
      "--model opus",
      "--no-auto-compact"
    ]
  },
  "guardrails": [
    {
      "command": "make lint && make vet",
      "failAction": "APPEND",
      "hint": "Only <lint>."
    },
    {
      "command": "make test",
      "failAction": "REPLACE"
    }
  ],
  "scm": {
    "command": "git",
    "tasks": [
      "commit",
      "push"
    ]
  }
}
`
	if got := content(t, dir, starter.SettingsPath); got != want {
		t.Errorf("settings.json =\n%s\nwant\n%s", got, want)
	}
	if got, want := tree(t, dir), []string{".ralph", ".ralph/settings.json", ".ralph/settings.schema.json"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	if info, err := os.Stat(filepath.Join(dir, starter.SettingsPath)); err != nil || info.Mode().Perm()&^0o022 != 0o644 {
		t.Errorf("mode %v, %v, want 0644", info.Mode(), err)
	}
	if err := folder.WriteSettings(starter.Defaults(), false); !errors.Is(err, starter.ErrExists) || content(t, dir, starter.SettingsPath) != want {
		t.Errorf("WriteSettings over a file = %v, want ErrExists and the old file", err)
	}
	if err := folder.WriteSettings(starter.Defaults(), true); err != nil || content(t, dir, starter.SettingsPath) == want {
		t.Errorf("WriteSettings with overwrite = %v, want a new file", err)
	}
}

// Nothing is read or written where a link leads, and what stands in the way is
// named.
func TestFolderPlanted(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "settings.json"), []byte(`{"theirs":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		plant func(dir string) error
		want  string
	}{
		{".ralph leads outside", func(dir string) error { return os.Symlink(outside, filepath.Join(dir, ".ralph")) }, ".ralph is a symbolic link: remove it"},
		{".ralph leads inside", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, ".git"), 0o755), os.Symlink(".git", filepath.Join(dir, ".ralph")))
		}, ".ralph is a symbolic link: remove it"},
		{".ralph is a file", func(dir string) error { return os.WriteFile(filepath.Join(dir, ".ralph"), nil, 0o644) }, ".ralph is a file: remove it"},
		{"the file leads outside", func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, ".ralph"), 0o755), os.Symlink(filepath.Join(outside, "settings.json"), filepath.Join(dir, ".ralph/settings.json")))
		}, ".ralph/settings.json is a symbolic link: remove it"},
		{"the file is a folder", func(dir string) error { return os.MkdirAll(filepath.Join(dir, ".ralph/settings.json"), 0o755) }, ".ralph/settings.json is a directory: remove it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			folder, dir := project(t)
			if err := tc.plant(dir); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			if e, err := folder.Existing(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Existing = %+v, %v, want %q", e, err, tc.want)
			}
			if err := folder.WriteSettings(starter.Defaults(), true); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("WriteSettings = %v, want %q", err, tc.want)
			}
			if _, err := folder.WritePreset("claude", true); strings.HasPrefix(tc.name, ".ralph") && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("WritePreset = %v, want %q", err, tc.want)
			} else if after := tree(t, dir); strings.HasPrefix(tc.name, ".ralph") && !slices.Equal(before, after) {
				t.Errorf("files %q, want %q", after, before)
			}
			if got := content(t, outside, "settings.json"); got != `{"theirs":1}` {
				t.Errorf("the file outside is %q", got)
			}
		})
	}
	folder, dir := project(t, starter.SettingsPath, `{"a":1}`)
	if err := os.Symlink(filepath.Join(outside, "settings.json"), filepath.Join(dir, ".ralph/settings.local.json")); err != nil {
		t.Fatal(err)
	}
	if e, err := folder.Existing(); err != nil || strings.Contains(e.Text, "theirs") || len(e.Problems) != 1 {
		t.Errorf("Existing with a link as overlay = %+v, %v, want one problem", e, err)
	}
}

// A schema that cannot be written leaves no settings that name it.
func TestWriteSettingsSchemaPlanted(t *testing.T) {
	t.Parallel()
	folder, dir := project(t, ".ralph/config", "")
	outside := filepath.Join(t.TempDir(), "theirs")
	if err := errors.Join(os.WriteFile(outside, []byte("theirs"), 0o644), os.Symlink(outside, filepath.Join(dir, starter.SchemaPath))); err != nil {
		t.Fatal(err)
	}
	const want = ".ralph/settings.schema.json is a symbolic link: remove it"
	if err := folder.WriteSettings(starter.Defaults(), true); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("WriteSettings = %v, want %q", err, want)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "theirs" {
		t.Errorf("the file outside is %q, %v", data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, starter.SettingsPath)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("settings.json: %v, want none", err)
	}
}

// An earlier schema of ralph's is replaced, a file of somebody else's is not.
func TestWriteSettingsSchemaThere(t *testing.T) {
	t.Parallel()
	folder, _ := project(t, starter.SchemaPath, "mine")
	if err := folder.WriteSettings(starter.Defaults(), false); !errors.Is(err, starter.ErrExists) {
		t.Errorf("WriteSettings = %v, want %v", err, starter.ErrExists)
	}
	folder, dir := project(t, starter.SchemaPath, `{"$id": "https://example.com/x/ralph-action/v0/docs/settings.schema.json"}`)
	if err := folder.WriteSettings(starter.Defaults(), false); err != nil {
		t.Error(err)
	}
	if text := content(t, dir, starter.SchemaPath); len(text) < 1000 {
		t.Errorf("the schema is %q", text)
	}
}

// A write that fails leaves nothing behind.
func TestWriteSettingsFails(t *testing.T) {
	t.Parallel()
	folder, dir := project(t)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	back := asNobody()
	err := folder.WriteSettings(starter.Defaults(), false)
	back()
	if err == nil || !strings.Contains(err.Error(), "run as a user who may write to "+dir) {
		t.Errorf("WriteSettings = %v, want advice", err)
	}
	if got := tree(t, dir); len(got) > 0 {
		t.Errorf("files %q, want none", got)
	}
}

// What root makes in somebody's project is theirs.
func TestWriteSettingsOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	folder, dir := project(t)
	if err := os.Chown(dir, 4711, 4712); err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteSettings(starter.Defaults(), false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".ralph", starter.SettingsPath, starter.SchemaPath} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 4711 || owner.Gid != 4712 {
			t.Errorf("%s belongs to %d:%d, want 4711:4712", name, owner.Uid, owner.Gid)
		}
	}
}

func FuzzExisting(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[1,"x",null,true,{}]},"a":2}`, `{"token":{"x":1}}`, "[", `{"a":"\ud800"}`, "\ufeff{}", "{}{}", `{"sk-":"ghp_0123456789012345678"}`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, settings, local string) {
		folder, _ := project(t, starter.SettingsPath, settings, ".ralph/settings.local.json", local)
		e, err := folder.Existing()
		if err != nil || !e.Found {
			t.Fatalf("Existing(%q, %q) = %+v, %v", settings, local, e, err)
		}
		if e.Text == "" && len(e.Problems) == 0 || e.Local && len(e.Problems) > 0 {
			t.Errorf("Existing(%q, %q) = %+v, want a text or a problem", settings, local, e)
		}
	})
}
