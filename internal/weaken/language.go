package weaken

import (
	"path"
	"slices"
	"strings"
)

// language is what is known of one.
type language struct {
	name   string
	lexis  lexis
	indent bool // blocks are told by indentation, or by end

	// tests says that a file holds tests, by its cleaned path.
	tests *pattern
	// inline says that tests stand in any file of the language.
	inline bool

	// The marks of test cases in code. call: the name is the string that follows;
	// named: the name is the last group; attribute: the name of the function that
	// it stands above; macro: the name is what stands in the brackets.
	call, named, attribute, macro *pattern

	class    *pattern // a class in a class: of those that tests hand to something the tests are none
	skip     []mark   // that keep a test from running or from counting
	only     *pattern // that keeps the others from running
	assert   *pattern
	trivial  *pattern // an assertion that always holds, in the text
	weak     *pattern // an assertion that says little
	disabled *pattern // what switches a part of the code off

	filter *filter // of all of them, and of what silences tools in the language
}

// mark is what a test is skipped with.
type mark struct {
	rule string
	re   *pattern
	text bool // it stands in strings, too; else in code alone
}

// languages are those whose tests are read. One is made when the first file of
// it is met, because its regular expressions cost milliseconds.
type languages map[string]*language

// of is the language of a file, nil where it is not known.
func (l languages) of(name string) *language {
	ext := strings.ToLower(path.Ext(name))
	if made, ok := l[ext]; ok {
		return made
	}
	var makes func() *language
	var kin string
	for exts, f := range map[string]func() *language{
		".go": golang, ".js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte": javascript, ".py": python, ".java .kt .kts .groovy .scala": java, ".cs": csharp,
		".rs": rust, ".rb": ruby, ".php": php, ".ex .exs": elixir, ".swift": swift, ".c .cc .cpp .cxx .h .hh .hpp .m .mm": cpp, ".bats .sh .bash": shell,
	} {
		if slices.Contains(strings.Fields(exts), ext) {
			makes, kin = f, exts
		}
	}
	if makes == nil {
		return nil
	}
	made := makes()
	for e := range strings.FieldsSeq(kin) {
		l[e] = made
	}
	return made
}

// asserts finds assertions of all kinds, helpers included, by their names. A word
// such as "expected" is none.
const asserts = `\b(?i:\w*assert\w*|expect\w*|should\w*|verify\w*|refute\w*)(?:[.:]+\w+)*!?\s*\(`

// bare finds assertions that are a word at the beginning of a line.
const bare = `|(?m)^[ \t]*(?:assert|refute|expect|verify)\w*[ \t{]+[^ \t=:.(]`

var slashes = [][2]string{{"/*", "*/"}}

var doubleQuote, singleQuote = quote{open: `"`, end: `"`}, quote{open: "'", end: "'"}

func golang() *language {
	return &language{
		name:  "go",
		lexis: lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: "`", end: "`", raw: true, many: true}, doubleQuote, singleQuote}},
		tests: re(`_test\.go$`),
		named: re(`(?m)^func (?:\([^)\n]*\) )?((?:Test|Fuzz|Example)\w*)\s*\(`),
		skip: []mark{
			{rule: "t.Skip", re: re(`\b[a-z]\w*(?:\.T\(\))?\.(?:Skip|Skipf|SkipNow)\(`)},
		},
		assert:   re(asserts + `|\brequire\.\w+\(|\b\w+(?:\.T\(\))?\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(`),
		trivial:  re(`\b(?:assert|require)\.(?:True|Truef)\(\w+, true\b|\b(?:assert|require)\.(?:Equal|EqualValues)\(\w+, (?:true, true|1, 1|nil, nil|0, 0)\)`),
		weak:     re(`\b(?:assert|require)\.(?:NotNil|NotEmpty|NotZero)\(`),
		disabled: re(`\bif (?:false|true \|\||false &&)|//go:build (?:ignore|never)`),
	}
}

func javascript() *language {
	const test = `(?:it|test|specify|describe|suite|context|bench|scenario|feature|fixture|Deno\.test)`
	return &language{
		name:  "js",
		lexis: lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: "`", end: "`", many: true}, doubleQuote, singleQuote}, regex: true},
		tests: re(`(?:[._-](?:test|tests|spec|specs|e2e|cy|it)\.[cm]?[jt]sx?$)|(?:^|/)(?:__tests__|tests?|specs?|e2e|cypress)/.*\.(?:[cm]?[jt]sx?)$|(?:^|/)test\.[cm]?[jt]sx?$`),
		call:  re(`(?m)(?:^|[^\w.$])(?:it|test|specify|xit|xtest|xspecify|fit|scenario|Deno\.test)(?:\.\w+)*\s*\(\s*["'` + "`" + `]|(?:^|[^\w.$])(?:it|test|specify)(?:\.\w+)*\.(?:each|for)\b`),
		skip: []mark{
			{rule: ".skip", re: re(`(?m)(?:^|[^\w.$])` + test + `(?:\.\w+)*\.(?:skip|skipIf|runIf)\b|\b(?:t|this|ctx|context|test)\.skip\(`)},
			{rule: ".todo", re: re(`(?m)(?:^|[^\w.$])` + test + `(?:\.\w+)*\.(?:todo|fixme)\b|\bt\.todo\(`)},
			{rule: ".failing", re: re(`(?m)(?:^|[^\w.$])(?:it|test)(?:\.\w+)*\.(?:fails|failing|fail)\b`)},
			{rule: "xit", re: re(`(?m)(?:^|[^\w.$])(?:xit|xtest|xdescribe|xcontext|xspecify|xsuite)\s*\(`)},
			{rule: "skip: true", re: re(`\{[^{}\n]*\b(?:skip|todo|ignore):\s*(?:true|["'])`)},
		},
		only:     re(`(?m)(?:^|[^\w.$])` + test + `(?:\.\w+)*\.only\b|(?:^|[^\w.$])(?:fit|fdescribe|fcontext)\s*\(|\{[^{}\n]*\bonly:\s*true`),
		assert:   re(asserts + `|\bt\.(?:is|not|deepEqual|true|false|truthy|falsy|equal|same|ok|throws|throwsAsync|like|snapshot)\(|\.should\b`),
		trivial:  re(`\bexpect\(\s*(?:true|!0)\s*\)\.(?:toBe|toEqual|toStrictEqual|to\.equal|to\.be)\w*[(.]?\s*(?:true)|\bexpect\(\s*(?:true|1)\s*\)\.(?:toBeTruthy|toBeDefined|to\.be\.ok)|\bexpect\(\s*(\d+)\s*\)\.(?:toBe|toEqual)\(\s*(?:\d+)\s*\)|\bassert(?:\.ok|\.isTrue)?\(\s*true\b|\bassert\.(?:equal|strictEqual)\(\s*(?:true,\s*true|1,\s*1)\s*\)`),
		weak:     re(`\.(?:toBeTruthy|toBeDefined|toBeFalsy|not\.toBeNull|not\.toBeUndefined|not\.toThrow|toBeInstanceOf)\(|\bexpect\.anything\(|\.to\.(?:exist|be\.ok)\b|\bassert(?:\.ok)?\(`),
		disabled: re(`\bif\s*\(\s*(?:false|0)\s*(?:\)|&&)`),
	}
}

func python() *language {
	return &language{
		name: "python", indent: true,
		lexis: lexis{line: []string{"#"}, quotes: []quote{{open: `"""`, end: `"""`, many: true}, {open: "'''", end: "'''", many: true}, doubleQuote, singleQuote}},
		tests: re(`(?:^|/)(?:test_[^/]*|[^/]*_tests?|tests?|conftest)\.py$|(?:^|/)tests?/.*\.py$`),
		named: re(`(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\(`),
		skip: []mark{
			{rule: "pytest.mark.skip", re: re(`(?m)(?:^|[^=.\w])(?:\w+\.)?mark\.(?:skip|skipif)\b`)},
			{rule: "pytest.mark.xfail", re: re(`\bmark\.xfail\b`)},
			{rule: "pytest.skip", re: re(`\bpytest\.(?:skip|xfail|importorskip|exit)\(`)},
			{rule: "unittest.skip", re: re(`\bunittest\.(?:skip|skipIf|skipUnless|expectedFailure)\b|\bself\.skipTest\(|\bSkipTest\b|(?m)^[ \t]*@(?:skip|skipIf|skipUnless|expectedFailure)\b`)},
			{rule: "collect_ignore", re: re(`\bcollect_ignore(?:_glob)?\b|\b__test__\s*=\s*False`)},
		},
		assert:   re(asserts + bare + `|\braises\(|\bself\.fail\(|\bpytest\.fail\(`),
		trivial:  re(`(?m)^[ \t]*assert\s+(?:True|1|not False|True == True|1 == 1)\s*(?:#|,|$)|\bassertTrue\(\s*True\s*\)|\bassertEqual\(\s*(?:True,\s*True|1,\s*1)\s*\)|\bassert\s+\w[^\n]*\bor True\b`),
		weak:     re(`(?m)^[ \t]*assert[ \t]+[\w.]+(?:\([^()\n]*\))?[ \t]*(?:$|#|,)|\bis not None\b|\bassertIsNotNone\(|\bassertIsInstance\(|\bassert isinstance\(`),
		disabled: re(`(?m)^[ \t]*if (?:False|0)\b|\bif TYPE_CHECKING and False`),
	}
}

func java() *language {
	return &language{
		name:      "java",
		lexis:     lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: `"""`, end: `"""`, many: true}, doubleQuote, singleQuote}},
		tests:     re(`(?:^|/)src/(?:\w*[tT]est\w*|it)/|(?:^|/)(?:Test[A-Z]\w*|\w+(?:Test|Tests|TestCase|IT|Spec))\.(?:java|kt|groovy|scala)$`),
		attribute: re(`@(?:org\.[\w.]+\.)?(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Theory|Property)\b`),
		call:      re(`(?m)^[ \t]*(?:test|it|should|xtest|xit|scenario)\s*\(\s*"`),
		class:     re(`[ \t]class[ \t]+(\w+)[^;{}]*\{`),
		skip: []mark{
			{rule: "@Disabled", re: re(`@(?:\w+\.)*Disabled\w*\b`)},
			{rule: "@Ignore", re: re(`@(?:\w+\.)*Ignore\b`)},
			{rule: "enabled = false", re: re(`\benabled\s*=\s*false\b`)},
			{rule: "assume", re: re(`\bassume(?:True|False|That|NoException)\s*\(|\bAssumptions?\.\w+\(|\bSkipException\b|\bTestAbortedException\b`)},
			{rule: "xtest", re: re(`(?m)^[ \t]*(?:xtest|xit|xdescribe|xcontext|xshould)\s*\(`)},
		},
		only:     re(`(?m)^[ \t]*(?:ftest|fit|fdescribe)\s*\(`),
		assert:   re(asserts + bare + `|\bshould\w+[ \t]|\bfail\(`),
		trivial:  re(`\bassertTrue\(\s*(?:"[^"\n]*",\s*)?true\s*\)|\bassertFalse\(\s*false\s*\)|\bassertEquals\(\s*(?:1,\s*1|true,\s*true|0,\s*0)\s*\)|\bassertThat\(\s*true\s*\)\.isTrue\(`),
		weak:     re(`\bassertNotNull\(|\.isNotNull\b|\.isNotEmpty\b|\bassertDoesNotThrow\(`),
		disabled: re(`\bif\s*\(\s*false\s*(?:\)|&&)`),
	}
}

func csharp() *language {
	return &language{
		name:      "csharp",
		lexis:     lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: `"""`, end: `"""`, many: true}, {open: `@"`, end: `"`, raw: true, many: true}, doubleQuote, singleQuote}},
		tests:     re(`(?:^|/)[^/]*(?:Test|Tests|Spec|Specs)\.cs$|(?:^|/)[^/]*(?:\.|_|)[tT]ests?/.*\.cs$`),
		attribute: re(`\[\s*(?:\w+,\s*)*(?:Xunit\.|NUnit\.Framework\.)?(?:Fact\w*|Theory\w*|SkippableFact|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|Property)\b`),
		skip: []mark{
			{rule: "Skip =", re: re(`\b(?:Fact|Theory|InlineData|MemberData)\s*\([^)\n]*\bSkip\s*=`)},
			{rule: "[Ignore]", re: re(`\[(?:[^\]\n]*,\s*)?(?:\w+\.)*(?:Ignore|Explicit)\b|\bIgnore\s*=`)},
			{rule: "Assert.Ignore", re: re(`\bAssert\.(?:Ignore|Inconclusive|Skip|SkipWhen|SkipUnless|Pass)\(|\bSkip\.(?:If|IfNot)\(`)},
		},
		assert:   re(asserts + `|\bThrows\w*\(`),
		trivial:  re(`\bAssert\.(?:True|IsTrue|That)\(\s*true\b|\bAssert\.(?:Equal|AreEqual)\(\s*(?:true,\s*true|1,\s*1)\s*\)|\btrue\.Should\(\)\.BeTrue`),
		weak:     re(`\bAssert\.(?:NotNull|IsNotNull|IsType|NotEmpty)\b|\.NotBeNull\(|\bIs\.Not\.Null\b`),
		disabled: re(`\bif\s*\(\s*false\s*(?:\)|&&)|(?m)^[ \t]*#if (?:false|NEVER|DISABLED)\b`),
	}
}
