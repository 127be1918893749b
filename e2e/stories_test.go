//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

const storiesBranch = "ralph/calc"

// stories is a list of chains of three stories, of which each goes into one lane. All of them
// are clean alone; US-006 conflicts with US-002, and US-009 fails the tests beside US-001.
func stories(count int) map[string]string {
	var list []string
	for n := 1; n <= count; n++ {
		after := ""
		if n%3 != 1 {
			after = fmt.Sprintf(`"US-%03d"`, n-1)
		}
		list = append(list, fmt.Sprintf(`    {
      "id": "US-%03[1]d",
      "title": "Function f%[1]d",
      "description": "f%[1]d prints %[1]d",
      "acceptanceCriteria": ["f%[1]d prints %[1]d"],
      "priority": %[1]d,
      "passes": false,
      "reviewStatus": null,
      "reviewCount": 0,
      "reviewFeedback": "",
      "notes": "",
      "dependsOn": [%[2]s]
    }`, n, after))
	}
	files := maps.Clone(program)
	maps.Copy(files, map[string]string{
		"shared.txt":         "nobody\n",
		"test.sh":            program["test.sh"] + "[ ! -e f1.sh ] || ! grep -qs forbidden f9.sh || { echo 'f9 is forbidden beside f1'; exit 1; }\n",
		"ralph/prd.md":       "# Functions\n",
		"ralph/progress.txt": "# Log\n",
		"ralph/prompt.md":    "mode {{MODE}}, story {{STORY_ID}}.\n",
		"ralph/tasks.json":   "{\n  \"project\": \"calc\",\n  \"branchName\": \"" + storiesBranch + "\",\n  \"description\": \"Functions\",\n  \"userStories\": [\n" + strings.Join(list, ",\n") + "\n  ]\n}\n",
		".github/ralph.yml":  "guardrails: sh test.sh\nmax-iterations: 12\n",
	})
	return files
}

// asked is what a question is about.
var asked = regexp.MustCompile(`mode ([a-z-]+), story US-0*(\d+)\.`)

// work is what the agent does in a step of a story, and whether it hangs there.
func work(mode string, story int, hang bool) answer {
	id := fmt.Sprintf(`\"id\": \"US-%03d\"`, story)
	set := func(fields string) string {
		return fmt.Sprintf(`n=$(sed -n "/%[1]s/,/dependsOn/ s/.*\"reviewCount\": \([0-9]*\),/\1/p" ralph/tasks.json)
sed -i "/%[1]s/,/dependsOn/ { %[2]s }" ralph/tasks.json`, id, fields)
	}
	if mode == "review" {
		return bash(set(`s/\"reviewStatus\": .*,/\"reviewStatus\": \"approved\",/; s/\"reviewCount\": .*,/\"reviewCount\": $((n+1)),/; s/\"passes\": .*,/\"passes\": true,/`))
	}
	code := fmt.Sprintf("echo 'f%[1]d() { echo %[1]d; }' >f%[1]d.sh\necho 'US-%03[1]d: mode %[2]s' >>ralph/progress.txt\n", story, mode)
	switch {
	case story == 2 || story == 6 && mode == "implement":
		code += fmt.Sprintf("echo 'story %d' >shared.txt\n", story)
	case story == 6:
		code += "echo 'story 6' >>shared.txt\n"
	case story == 9 && mode == "implement":
		code += "echo '# forbidden' >>f9.sh\n"
	}
	a := bash("env; " + code + set(`s/\"reviewStatus\": .*,/\"reviewStatus\": \"needs_review\",/; s/\"reviewFeedback\": .*,/\"reviewFeedback\": \"\",/; s/\"notes\": .*,/\"notes\": \"done\",/`))
	a.Hang = hang
	return a
}

// putInToolCache makes a binary the one that act's jobs find in their tool cache.
func putInToolCache(t *testing.T, binary string) {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	out, err := exec.Command("docker", "run", "--rm", "--label", "ralph-e2e", "-v", "act-toolcache:/cache", "-v", binary+":/ralph:ro", "--entrypoint", "sh", image(t), "-c",
		"mkdir -p /cache/ralph/1.2.3/"+arch+" && cp /ralph /cache/ralph/1.2.3/"+arch+"/ralph").CombinedOutput()
	if err != nil {
		t.Fatalf("docker run: %v\n%s", err, out)
	}
}

// inWorkflow are act's arguments for a release of the action and for the actions of others
// that the workflow uses, which have stand-ins here.
func inWorkflow(t *testing.T, workflow, action, commit string) []string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	artifacts := sharedTempDir(t)
	owned(t, artifacts, 1001)
	args := []string{"--artifact-server-path", artifacts, "--artifact-server-addr", "127.0.0.1", "--artifact-server-port", fmt.Sprint(port), "--local-repository", "org/ralph-action@" + commit + "=" + action}
	for _, m := range regexp.MustCompile(`uses: org/ralph-action(?:/\w+)?@([0-9a-f]{40})`).FindAllStringSubmatch(workflow, -1) {
		args = append(args, "--local-repository", "org/ralph-action@"+m[1]+"="+action)
	}
	standIns, err := filepath.Abs("testdata/actions")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`uses: (actions/([\w-]+)@\S+)`).FindAllStringSubmatch(workflow, -1) {
		args = append(args, "--local-repository", m[1]+"="+filepath.Join(standIns, m[2]))
	}
	return args
}

// Twelve stories in four lanes by the workflow that people call, with the real claude: one
// conflicts, one makes the tests red beside another, and the machine of a lane is lost. What
// is not in comes in the second wave; nothing is lost, nothing comes twice.
func TestStories(t *testing.T) {
	t.Parallel()
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	action, commit := released(t, pushed(t), binary)
	putInToolCache(t, binary)
	files := stories(12)
	caller := strings.ReplaceAll(readFile(t, "../docs/examples/stories.yml"), "<SHA>", commit)
	caller = strings.Replace(caller, "      setup: npm ci\n", "      lanes: 4\n", 1)
	files[".github/workflows/stories.yml"] = caller
	r := forge(t).newRepository(t, files)
	git(t, r.Seed, "remote", "add", "origin", r.URL+"/"+r.Name)

	hangs := make(chan struct{}, 1)
	wave := 1
	m := newModel(t, func(q question) answer {
		found := asked.FindAllStringSubmatch(q.Text, -1)
		if found == nil {
			t.Errorf("a question about no story:\n%s", q.Text)
			return answer{Text: "?"}
		}
		last := found[len(found)-1]
		var story int
		fmt.Sscan(last[2], &story)
		if q.Said != "" {
			return answer{Text: map[bool]string{true: "<verdict>approved</verdict>", false: "Done with it."}[last[1] == "review"]}
		}
		hang := wave == 1 && story == 12
		if hang {
			hangs <- struct{}{}
		}
		return work(last[1], story, hang)
	})
	workflow := readFile(t, filepath.Join(action, ".github/workflows/stories.yml"))
	args := append(inWorkflow(t, workflow, action, commit), "workflow_dispatch", "-W", ".github/workflows/stories.yml", "-P", "ubuntu-24.04="+image(t), "--env", "ANTHROPIC_BASE_URL="+m.URL)

	// The first wave, in which a machine is lost.
	cmd, _ := actCommand(t, r, args...)
	ended := make(chan error, 1)
	go func() { ended <- runFor(cmd, 12*time.Minute) }()
	select {
	case <-hangs:
	case err := <-ended:
		t.Fatalf("act ended before the last story of the last lane: %v", err)
	}
	killStep(t, "L00")
	if got := r.branches(t); !slices.Equal(got, []string{"main"}) {
		t.Errorf("branches while the lanes work: %q, want main alone", got)
	}
	if err := <-ended; err == nil {
		t.Error("act calls a workflow green whose machine was lost")
	}
	in := []int{1, 2, 3, 4, 5, 7, 8, 10, 11}
	checkStories(t, r, 12, in, []int{6, 9})
	wants(t, "what the next wave is told", r.content(t, storiesBranch, "ralph/tasks.json"), "changed meanwhile by US-002", "f9 is forbidden beside f1")
	p := r.pulls(t)
	if len(p) != 1 || !p[0].Draft || p[0].Head.Ref != storiesBranch {
		t.Fatalf("pull requests = %+v, want one draft of %s", p, storiesBranch)
	}
	wants(t, "the pull request", p[0].Body, "9 of 12 stories integrated", "2 returned", "Another wave follows", "shared.txt", "gantt")
	for _, n := range in {
		if row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| US-%03d \| .* \| L00\d \| 1 \| .*\$0\.\d+ \| ✅`, n)); !row.MatchString(p[0].Body) {
			t.Errorf("the pull request has no row %s:\n%s", row, p[0].Body)
		}
	}

	// The next wave, as TestNextWave shows that the workflow starts it.
	wave = 2
	r.fetch(t, storiesBranch)
	event := filepath.Join(sharedTempDir(t), "event.json")
	if err := os.WriteFile(event, []byte(`{"inputs":{"wave":"2"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	log := act(t, r, append(args, "-e", event)...)
	for what, value := range map[string]string{"the token": r.Token, "the API key": apiKey} {
		for _, q := range m.questions() {
			if strings.Contains(q.Text, value) {
				t.Fatalf("the agent has %s:\n%s", what, q.Text)
			}
		}
	}
	if strings.Contains(log, "Run Main Start the next wave") {
		t.Error("a third wave is started, and everything is done")
	}
	checkStories(t, r, 12, append(in, 6, 9, 12), nil)
	if p = r.pulls(t); len(p) != 1 || p[0].Draft {
		t.Fatalf("pull requests = %+v, want the same one, ready for review", p)
	}
	wants(t, "the pull request", p[0].Body, "3 of 3 stories integrated", "No other wave follows", "From earlier waves: 9 stories", "US-001")
	if got := r.content(t, storiesBranch, "shared.txt"); got != "story 2\nstory 6" {
		t.Errorf("shared.txt = %q, want both stories", got)
	}
}

// The same on the runner itself, as its user, by an agent of a few lines: two lanes, nothing
// comes back, and one wave is enough.
func TestStoriesOnRunner(t *testing.T) {
	t.Parallel()
	binary, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	action, commit := released(t, "registry.invalid/org/ralph-action@sha256:"+strings.Repeat("0", 64), binary)
	files := stories(4)
	agent := "cat >.git/prompt\ncase \"$(sed -n 's/.*\\(mode [a-z-]*, story US-[0-9]*\\)\\..*/\\1/p' .git/prompt | head -1)\" in\n"
	for n := 1; n <= 4; n++ {
		for mode, says := range map[string]string{"implement": "done", "review": "<verdict>approved</verdict>"} {
			agent += fmt.Sprintf("\"mode %s, story US-%03d\")\n%s\necho '%s' ;;\n", mode, n, work(mode, n, false).Input["command"], says)
		}
	}
	files["agent.sh"] = agent + "esac\n"
	files[".github/ralph.yml"] += "agent: text\nagent-command: sh agent.sh\n"
	caller := strings.ReplaceAll(readFile(t, "../docs/examples/stories.yml"), "<SHA>", commit)
	files[".github/workflows/stories.yml"] = strings.Replace(caller, "      setup: npm ci\n", "      host: true\n", 1)
	r := forge(t).newRepository(t, files)
	git(t, r.Seed, "remote", "add", "origin", r.URL+"/"+r.Name)
	workflow := readFile(t, filepath.Join(action, ".github/workflows/stories.yml"))
	args := append(inWorkflow(t, workflow, action, commit), onRunner(t, workflow, binary)...)
	log := actHere(t, r, append(args, "workflow_dispatch", "-W", ".github/workflows/stories.yml")...)
	wants(t, "the log", log, "stories/L001", "stories/L002", "4 of 4 stories integrated")
	checkStories(t, r, 4, []int{1, 2, 3, 4}, nil)
	if p := r.pulls(t); len(p) != 1 || p[0].Draft || !strings.Contains(p[0].Body, "No other wave follows") {
		t.Fatalf("pull requests = %+v, want one that is ready for review, and no other wave", p)
	}
}

// killStep kills the container of a step in the job whose name begins so: act runs nothing
// after the end of a job's own.
func killStep(t *testing.T, job string) {
	t.Helper()
	list, err := exec.Command("docker", "ps", "--no-trunc", "--filter", "name=act-.*-ralph-stories-"+job, "--format", "{{.ID}} {{.Command}}").Output()
	var ids []string
	for line := range strings.Lines(string(list)) {
		if id, command, _ := strings.Cut(line, " "); !strings.Contains(command, "tail") { // which is how act keeps a job's container
			ids = append(ids, id)
		}
	}
	if err != nil || len(ids) != 1 {
		t.Fatalf("containers of the step: %q, %v, want one", list, err)
	}
	if out, err := exec.Command("docker", "kill", ids[0]).CombinedOutput(); err != nil {
		t.Fatalf("docker kill: %v\n%s", err, out)
	}
}

// checkStories looks at the branch: the stories that are in are there once each, with code,
// state, notes and cost; the returned ones have a patch and a reason.
func checkStories(t *testing.T, r *repository, count int, in, returned []int) {
	t.Helper()
	r.fetch(t, storiesBranch)
	var list struct {
		Stories []struct {
			ID, Feedback, Status string
			Passes               bool
		}
	}
	text := strings.NewReplacer(`"userStories"`, `"Stories"`, `"reviewFeedback"`, `"Feedback"`, `"reviewStatus"`, `"Status"`).Replace(r.content(t, storiesBranch, "ralph/tasks.json"))
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	var commits []string
	for _, m := range regexp.MustCompile(`(?m)^feat: \[(US-\d+)\] - Function`).FindAllStringSubmatch(git(t, r.Seed, "log", "--format=%s", "main..refs/remotes/origin/"+storiesBranch), -1) {
		commits = append(commits, m[1])
	}
	slices.Sort(commits)
	var want []string
	progress := r.content(t, storiesBranch, "ralph/progress.txt")
	tree := strings.Fields(git(t, r.Seed, "ls-tree", "-r", "--name-only", "refs/remotes/origin/"+storiesBranch))
	for n := 1; n <= count; n++ {
		id, there := fmt.Sprintf("US-%03d", n), slices.Contains(in, n)
		s := list.Stories[n-1]
		if s.Passes != there {
			t.Errorf("%s passes: %t, want %t", id, s.Passes, there)
		}
		if has := slices.Contains(tree, fmt.Sprintf("f%d.sh", n)); has != there {
			t.Errorf("the code of %s is there: %t, want %t", id, has, there)
		}
		if there {
			want = append(want, id)
			if got := strings.Count(progress, id+": mode "); got != 1 {
				t.Errorf("progress.txt has the note of %s %d times", id, got)
			}
		}
		back := slices.Contains(returned, n)
		if has := slices.Contains(tree, "ralph/returned/"+id+".patch"); has != back {
			t.Errorf("the patch of %s is there: %t, want %t", id, has, back)
		}
		if back && (s.Status != "changes_requested" || s.Feedback == "") {
			t.Errorf("%s is %q, for %q; want changes requested with a reason", id, s.Status, s.Feedback)
		}
	}
	if !slices.Equal(commits, want) {
		t.Errorf("commits of %q, want %q, each once", commits, want)
	}
}

// The step that starts the next wave, with what GitHub fills in: it asks for what the API
// takes, and the real forge starts the workflow.
func TestNextWave(t *testing.T) {
	t.Parallel()
	files := maps.Clone(program)
	files[".github/workflows/stories.yml"] = readFile(t, "../docs/examples/stories.yml")
	r := forge(t).newRepository(t, files)
	var w struct {
		Jobs map[string]struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../.github/workflows/stories.yml")), &w); err != nil {
		t.Fatal(err)
	}
	step := w.Jobs["next"].Steps[0]
	var path, authorization, body string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		path, authorization, body = req.Method+" "+req.URL.Path, req.Header.Get("Authorization"), strings.TrimSpace(string(b))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer api.Close()
	for _, c := range []struct{ address, inputs, wave, want string }{
		{api.URL, "null", "1", `{"wave":"2"}`}, // started by a push or at night
		{api.URL, `{"wave": "2", "budget": "5"}`, "2", `{"wave":"3","budget":"5"}`},
		{r.URL + "/api/v1", `{"wave": "1"}`, "1", `{"wave":"2"}`},
	} {
		values := map[string]string{
			"${{ github.token }}": r.Token, "${{ github.api_url }}": c.address, "${{ github.repository }}": r.Name, "${{ github.ref_name }}": "main",
			"${{ github.workflow_ref }}": r.Name + "/.github/workflows/stories.yml@refs/heads/main", "${{ toJSON(github.event.inputs) }}": c.inputs, "${{ inputs.wave || '1' }}": c.wave,
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		for name, expression := range step.Env {
			value, ok := values[expression]
			if !ok {
				t.Fatalf("%s is %s, which the test does not know", name, expression)
			}
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the step that starts the next wave: %v\n%s", err, out)
		}
		if want := "POST /repos/" + r.Name + "/actions/workflows/stories.yml/dispatches"; path != want || authorization != "Bearer "+r.Token || c.address == api.URL && body != `{"ref":"main","inputs":`+c.want+`}` {
			t.Errorf("the request is %s, %q with %s; want %s with %s", path, authorization, body, want, c.want)
		}
	}
	var runs struct {
		Runs []struct{ Event, Path string } `json:"workflow_runs"`
	}
	await(t, 20*time.Second, "the forge's run of the workflow", func() bool {
		_, err := r.call(http.MethodGet, "/repos/"+r.Name+"/actions/runs", nil, &runs)
		return err == nil && len(runs.Runs) == 1 && runs.Runs[0].Event == "workflow_dispatch"
	})
}
