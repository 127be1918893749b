package testintegrity

import (
	"path"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// language is what is known of one.
type language struct {
	name   string
	exts   string // of its files, each between spaces
	lexis  lexis
	indent bool // blocks are told by indentation, or by end

	// tests matches the names of files that hold tests.
	tests *lazyregexp.Regexp
	// inline means that tests stand in any file of the language.
	inline bool

	// The marks of test cases in code. call: the name is the string that follows;
	// named: the name is the last group; attribute: the name of the function that
	// it stands above; macro: the name is what stands in the brackets.
	call, named, attribute, macro *lazyregexp.Regexp

	skip     []mark             // that keep a test from running or from counting
	only     *lazyregexp.Regexp // that keeps the others from running
	assert   *lazyregexp.Regexp
	trivial  *lazyregexp.Regexp // an assertion that always holds
	disabled *lazyregexp.Regexp // what switches a part of the code off
}

// mark is what a test is skipped with.
type mark struct {
	rule string
	re   *lazyregexp.Regexp
	new  bool // a new test may well have it
}

// languageOf is the language of a file, nil where it is not known.
func languageOf(name string) *language {
	ext := strings.ToLower(path.Ext(name))
	for i := range languages {
		if l := &languages[i]; ext != "" && contains(l.exts, ext) {
			return l
		}
	}
	return nil
}

// contains reports whether a list of names, each between spaces, has one.
func contains(list, name string) bool { return strings.Contains(list, " "+name+" ") }

// isTest reports whether a file holds tests, by its name.
func isTest(name string) bool {
	lang := languageOf(name)
	return lang != nil && lang.tests.MatchString(name)
}

// asserts finds assertions of all kinds, helpers included, by their names. A word
// such as "expected" is none.
const asserts = `\b(?i:\w*assert\w*|expect\w*|should\w*|verify\w*|refute\w*)(?:[.:]+\w+)*!?(?:(?:<[\w.?, <>]+>)?\s*\(|<[\w.?, ]+>\s*\{)`

// bare finds assertions that are a word at the beginning of a line.
const bare = `|(?m)^[ \t]*(?:assert|refute|expect|verify)\w*[ \t{]+[^ \t=:.(]`

// jsTest is a test or a group of tests in JavaScript.
const jsTest = `(?:it|test|specify|describe|suite|context|bench|scenario|feature|fixture|Deno\.test)`

var slashes = [][2]string{{"/*", "*/"}}

var doubleQuote, singleQuote = quote{open: `"`, end: `"`}, quote{open: "'", end: "'"}

var re = lazyregexp.New

// languages are those whose tests are read.
var languages = []language{
	{
		exts:  " .go ",
		name:  "go",
		lexis: lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: "`", end: "`", raw: true, many: true}, doubleQuote, singleQuote}},
		tests: re(`_test\.go$`),
		named: re(`(?m)^func (?:\([^)\n]*\) )?((?:Test|Fuzz|Example)\w*)\s*\(`),
		skip: []mark{
			{rule: "t.Skip", re: re(`\b(?:[a-z]\w{0,2}|\w+\.T\(\))\.(?:Skip|Skipf|SkipNow)\(|(?m)^[ \t]*[a-z]\w*\.(?:Skip|Skipf|SkipNow)\([^\n]*\)[ \t]*$`)},
		},
		assert:   re(asserts + `|\brequire\.\w+\(|\b\w+(?:\.T\(\))?\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(`),
		trivial:  re(`\b(?:assert|require)\.(?:True|Truef)\(\w+, true\b|\b(?:assert|require)\.(?:Equal|EqualValues)\(\w+, (?:true, true|1, 1|nil, nil|0, 0)\)`),
		disabled: re(`\bif (?:false|true \|\||false &&)|//go:build (?:ignore|never)`),
	},
	{
		exts:  " .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte ",
		name:  "js",
		lexis: lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: "`", end: "`", many: true}, doubleQuote, singleQuote}, regex: true},
		tests: re(`(?:[._-](?:test|tests|spec|specs|e2e|cy|it)\.[cm]?[jt]sx?$)|(?:^|/)(?:__tests__|tests?|specs?|e2e|cypress)/.*\.(?:[cm]?[jt]sx?)$|(?:^|/)test\.[cm]?[jt]sx?$`),
		call:  re(`(?m)(?:^|[^\w.$])(?:it|test|specify|xit|xtest|xspecify|fit|scenario|Deno\.test)(?:\.\w+)*\s*\(\s*["'` + "`" + `]|(?:^|[^\w.$])(?:it|test|specify)(?:\.\w+)*\.(?:each|for|runIf|skipIf)\b`),
		skip: []mark{
			{rule: ".skip", re: re(`(?m)(?:^|[^\w.$])` + jsTest + `(?:\.\w+)*\.(?:skip|skipIf|runIf)\b|\b(?:t|this|ctx|context|test)\.skip\(`)},
			{rule: ".todo", re: re(`(?m)(?:^|[^\w.$])` + jsTest + `(?:\.\w+)*\.(?:todo|fixme)\b|\bt\.todo\(`), new: true},
			{rule: ".failing", re: re(`(?m)(?:^|[^\w.$])(?:it|test)(?:\.\w+)*\.(?:fails|failing)\b`)},
			{rule: "xit", re: re(`(?m)(?:^|[^\w.$])(?:xit|xtest|xdescribe|xcontext|xspecify|xsuite)\s*\(`)},
			{rule: "skip: true", re: re(`(?m)(?:^|[^\w.$])` + jsTest + `\s*\([^{}()]*\{[^{}\n]*\b(?:skip|todo|ignore):\s*(?:true|["'])`)},
		},
		only:     re(`(?m)(?:^|[^\w.$])` + jsTest + `(?:\.\w+)*\.only\b|(?:^|[^\w.$])(?:fit|fdescribe|fcontext)\s*\(|(?:^|[^\w.$])` + jsTest + `\s*\([^(){}\n]*\{[^{}\n]*\bonly:\s*true`),
		assert:   re(asserts + `|\bt\.(?:is|not|deepEqual|true|false|truthy|falsy|equal|same|ok|throws|throwsAsync|like|snapshot)\(|\.should\b`),
		trivial:  re(`\bexpect\(\s*(?:true|!0)\s*\)\.(?:toBe|toEqual|toStrictEqual|to\.equal|to\.be)\w*[(.]?\s*(?:true)|\bexpect\(\s*(?:true|1)\s*\)\.(?:toBeTruthy|toBeDefined|to\.be\.ok)|\bexpect\(\s*(\d+)\s*\)\.(?:toBe|toEqual)\(\s*(?:\d+)\s*\)|\b(?:t\.|assert\.)*(?:assert|ok|isTrue|true|truthy)\(\s*true\b|\bassert\.(?:equal|strictEqual)\(\s*(?:true,\s*true|1,\s*1)\s*\)`),
		disabled: re(`\bif\s*\(\s*(?:false|0)\s*(?:\)|&&)`),
	},
	{
		exts: " .py ",
		name: "python", indent: true,
		lexis: lexis{line: []string{"#"}, quotes: []quote{{open: `"""`, end: `"""`, many: true}, {open: "'''", end: "'''", many: true}, doubleQuote, singleQuote}},
		tests: re(`(?:^|/)(?:test_[^/]*|[^/]*_tests?|tests?|conftest)\.py$|(?:^|/)tests?/.*\.py$`),
		named: re(`(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)[ \t]*\(`),
		skip: []mark{
			{rule: "pytest.mark.skip", re: re(`(?m)(?:^|[^=.\w])(?:\w+\.)?mark\.(?:skip|skipif)\b`)},
			{rule: "pytest.mark.xfail", re: re(`\bmark\.xfail\b`)},
			{rule: "pytest.skip", re: re(`\b(?:pytest|py\.test)\.(?:skip|xfail|importorskip)\b`)},
			{rule: "unittest.skip", re: re(`\bunittest\.(?:skip|skipIf|skipUnless|expectedFailure)\b|\bself\.skipTest\(|\braise (?:\w+\.)?SkipTest\b|(?m)^[ \t]*@(?:skip|skipIf|skipUnless|expectedFailure)\b`)},
			{rule: "collect_ignore", re: re(`\bcollect_ignore(?:_glob)?\b|\b__test__\s*=\s*False`)},
		},
		assert:   re(asserts + bare + `|\braises\(|\bself\.fail\(|\bpytest\.fail\(`),
		trivial:  re(`(?m)^[ \t]*assert\s+(?:True|1|not False|True == True|1 == 1)\s*(?:#|,|$)|\bassertTrue\(\s*True\s*\)|\bassertEqual\(\s*(?:True,\s*True|1,\s*1)\s*\)|\bassert\s+\w[^\n]*\bor True\b`),
		disabled: re(`(?m)^[ \t]*if (?:False|0)\b|\bif TYPE_CHECKING and False`),
	},
	{
		exts:      " .java .kt .kts .groovy .scala ",
		name:      "java",
		lexis:     lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: `"""`, end: `"""`, many: true}, doubleQuote, singleQuote}},
		tests:     re(`(?:^|/)src/(?:\w*[tT]est\w*|it)/|(?:^|/)(?:Test[A-Z]\w*|\w+(?:Test|Tests|TestCase|IT|Spec))\.(?:java|kt|groovy|scala)$`),
		attribute: re(`@(?:org\.[\w.]+\.)?(?:Test|ParameterizedTest|RepeatedTest|RetryingTest|TestFactory|TestTemplate|Theory|Property)\b`),
		call:      re(`(?m)^[ \t]*(?:test|it|should|xtest|xit|scenario)\s*\(\s*"`),
		skip: []mark{
			{rule: "@Disabled", re: re(`@(?:\w+\.)*Disabled\w*\b`)},
			{rule: "@Ignore", re: re(`@(?:\w+\.)*Ignore\b`)},
			{rule: "enabled = false", re: re(`[(,]\s*enabled\s*=\s*false\b`)},
			{rule: "assume", re: re(`\bassume(?:True|False|That|NoException)\s*\(|\bAssumptions?\.\w+\(|\bSkipException\b|\bTestAbortedException\b`)},
			{rule: "xtest", re: re(`(?m)^[ \t]*(?:xtest|xit|xdescribe|xcontext|xshould)\s*\(`)},
		},
		only:     re(`(?m)^[ \t]*(?:ftest|fit|fdescribe)\s*\(`),
		assert:   re(asserts + bare + `|\bshould\w+[ \t]|\bfail\(`),
		trivial:  re(`\bassertTrue\(\s*(?:"[^"\n]*",\s*)?true\s*\)|\bassertFalse\(\s*false\s*\)|\bassertEquals\(\s*(?:1,\s*1|true,\s*true|0,\s*0)\s*\)|\bassertThat\(\s*true\s*\)\.isTrue\(`),
		disabled: re(`\bif\s*\(\s*false\s*(?:\)|&&)`),
	},
	{
		exts:      " .cs ",
		name:      "csharp",
		lexis:     lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: `"""`, end: `"""`, many: true}, {open: `@"`, end: `"`, raw: true, many: true}, doubleQuote, singleQuote}},
		tests:     re(`(?:^|/)[^/]*(?:Test|Tests|Spec|Specs)\.cs$|(?:^|/)[^/]*[tT]ests?(?:\.[^/]*)?/.*\.cs$`),
		attribute: re(`\[\s*(?:\w+,\s*)*(?:Xunit\.|NUnit\.Framework\.)?(?:\w*(?:Fact|Theory)|Fact\w*|Theory\w*|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|Property)\b`),
		skip: []mark{
			{rule: "Skip =", re: re(`(?:Fact|Theory)\s*\([^)\n]*\bSkip\s*=`)},
			{rule: "[Ignore]", re: re(`\[(?:[^\]\n]*,\s*)?(?:\w+\.)*Ignore\b|\bIgnore\s*=`)},
			{rule: "[Explicit]", re: re(`\[(?:[^\]\n]*,\s*)?(?:\w+\.)*Explicit\b`), new: true},
			{rule: "Assert.Ignore", re: re(`\bAssert\.(?:Ignore|Inconclusive|Skip|SkipWhen|SkipUnless|Pass)\(|\bSkip\.(?:If|IfNot)\(`)},
		},
		assert:   re(asserts + `|\bThrows\w*\(`),
		trivial:  re(`\bAssert\.(?:True|IsTrue|That)\(\s*true\b|\bAssert\.(?:Equal|AreEqual)\(\s*(?:true,\s*true|1,\s*1)\s*\)|\btrue\.Should\(\)\.BeTrue`),
		disabled: re(`\bif\s*\(\s*false\s*(?:\)|&&)|(?m)^[ \t]*#if (?:false|NEVER|DISABLED)\b`),
	},
	{
		exts: " .rs ",
		name: "rust", inline: true,
		named:     re(`(?m)^[ \t]*\w*test!\(\s*(\w+),`),
		lexis:     lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: `"`, end: `"`, many: true}}, rust: true},
		tests:     re(`(?:^|/)tests?/.*\.rs$|(?:^|/)(?:tests?|\w+_tests?)\.rs$`),
		attribute: re(`#\[(?:\w+::)*(?:test|bench|rstest|test_case|wasm_bindgen_test|quickcheck)\b`),
		skip: []mark{
			{rule: "#[ignore]", re: re(`#\[(?:ignore\b|cfg_attr\([^\]]{0,200}\bignore\b)`)},
		},
		assert:   re(`\b\w*assert\w*!?\s*\(|\bexpect_\w+\(|\bpanic!|\.unwrap_err\(`),
		trivial:  re(`\bassert!\(\s*true\b|\bassert_eq!\(\s*(?:true,\s*true|1,\s*1)\s*\)`),
		disabled: re(`\bif false\b|#\[cfg\((?:any\(\)|FALSE|never)\)\]`),
	},
	{
		exts: " .rb ",
		name: "ruby", indent: true,
		lexis: lexis{line: []string{"#"}, block: [][2]string{{"=begin", "\n=end"}}, quotes: []quote{doubleQuote, singleQuote}, word: true},
		tests: re(`_(?:spec|test)\.rb$|(?:^|/)test_[^/]*\.rb$|(?:^|/)(?:spec|test)/.*\.rb$`),
		call:  re(`(?m)^[ \t]*(?:it|specify|scenario|example|test|xit|xspecify|xscenario|fit|its)[ \t]*\(?[ \t]*["']|^[ \t]*its?[ \t]*\{`),
		named: re(`(?m)^[ \t]*def[ \t]+(test_\w+[?!]?)`),
		skip: []mark{
			{rule: "skip", re: re(`(?m)^[ \t]*(?:skip|pending)\b(?:[ \t]*\(?["']|[ \t]*$|[ \t]+(?:if|unless)\b)|(?m)^[ \t]*(?:it|describe|context|specify|scenario|feature|example)\b[^#\n]*(?:,\s*(?:skip|pending):|:(?:skip|pending)\b)`)},
			{rule: "xit", re: re(`(?m)^[ \t]*(?:xit|xdescribe|xcontext|xspecify|xscenario|xexample|xfeature)\b`)},
		},
		only:     re(`(?m)^[ \t]*(?:fit|fdescribe|fcontext|fspecify|fscenario)\b|(?m)^[ \t]*(?:RSpec\.)?(?:it|describe|context|specify|scenario|feature|example)\b[^#\n]*,\s*(?:focus:\s*true|:focus\b)|(?m)^[ \t]*focus\s*$`),
		assert:   re(asserts + bare + `|\bflunk\b|\bis_expected\b|\b(?:must|wont)_\w+|\.should\b`),
		trivial:  re(`\bexpect\(\s*true\s*\)\.to\s+(?:be|eq|be_truthy)\b|\bassert\s+true\b|\bassert\(\s*true\s*\)|\bassert_equal\s*\(?\s*(?:true,\s*true|1,\s*1)\b`),
		disabled: re(`(?m)^[ \t]*(?:if false|unless true)\b`),
	},
	{
		exts:      " .php ",
		name:      "php",
		lexis:     lexis{line: []string{"//", "#"}, block: slashes, quotes: []quote{{open: `"`, end: `"`, many: true}, {open: "'", end: "'", many: true}}},
		tests:     re(`Test(?:s|Case)?\.php$|(?:^|/)[tT]ests?/.*\.php$`),
		call:      re(`(?m)^[ \t]*(?:it|test|todo)\s*\(\s*["']`),
		named:     re(`\bfunction\s+(test\w*)\s*\(`),
		attribute: re(`#\[\s*(?:\w+,\s*)*\\?(?:PHPUnit\\Framework\\Attributes\\)?Test\b`),
		skip: []mark{
			{rule: "markTestSkipped", re: re(`\bmarkTest(?:Skipped|Incomplete)\(`)},
			{rule: "->skip", re: re(`\}\s*\)\s*(?:->\w+\([^)\n]*\)\s*)*->(?:skip\w*|todo)\(`)},
			{rule: "doesNotPerformAssertions", re: re(`\bexpectNotToPerformAssertions\(|\bDoesNotPerformAssertions\b`), new: true},
			{rule: "Requires", re: re(`#\[Requires\w*\(`)},
		},
		only:     re(`\}\s*\)\s*(?:->\w+\([^)\n]*\)\s*)*->only\(`),
		assert:   re(`\b(?i:\w*assert\w*|expect\w*|should\w*|verify\w*)\s*\(|\bfail\(`),
		trivial:  re(`\bassertTrue\(\s*true\s*\)|\bassertEquals\(\s*(?:1,\s*1|true,\s*true)\s*\)|\bassertSame\(\s*(?:1,\s*1|true,\s*true)\s*\)|\bexpect\(\s*true\s*\)->(?:toBeTrue|toBe\(\s*true)`),
		disabled: re(`\bif\s*\(\s*(?:false|0)\s*(?:\)|&&)`),
	},
	{
		exts:  " .c .cc .cpp .cxx .h .hh .hpp .m .mm ",
		name:  "cpp",
		lexis: lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: `R"(`, end: `)"`, raw: true, many: true}, doubleQuote, singleQuote}},
		tests: re(`(?i)(?:^|/)(?:tests?|unittests?|gtest)/.*\.(?:c|cc|cpp|cxx|h|hpp|mm?)$|(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_tests|_unittest|tests?|\.test))\.(?:c|cc|cpp|cxx|mm?)$`),
		macro: re(`\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|TEST_CASE|TEST_CASE_METHOD|SCENARIO|BOOST_AUTO_TEST_CASE|TEST_METHOD|PARAM_TEST_CASE|CTEST|Test)\s*\(`),
		named: re(`(?m)^(?:static )?(?:void|int)[ \t]+(test_\w+)\s*\(`),
		skip: []mark{
			{rule: "DISABLED_", re: re(`\bDISABLED_\w+`)},
			{rule: "GTEST_SKIP", re: re(`\b(?:GTEST_SKIP|SKIP|TEST_IGNORE\w*|CTEST_SKIP|BOOST_TEST_DONT_\w+|ck_assert_skip)\s*\(|\bdisabled\(\)|\bskip\(\)`)},
		},
		assert:   re(asserts + `|\b(?:CHECK|REQUIRE|EXPECT|ASSERT|BOOST|TEST_ASSERT)\w*\s*\(|\bck_\w+\(|\bFAIL\(`),
		trivial:  re(`\b(?:EXPECT|ASSERT)_TRUE\(\s*(?:true|1)\s*\)|\b(?:CHECK|REQUIRE)\(\s*(?:true|1|1 == 1)\s*\)|\b(?:EXPECT|ASSERT)_EQ\(\s*(?:1,\s*1|true,\s*true)\s*\)|\bSUCCEED\(\)|\bassert\(\s*(?:true|1)\s*\)`),
		disabled: re(`(?m)^[ \t]*#[ \t]*if(?:[ \t]+0\b|def[ \t]+(?:DISABLED|NEVER)\w*)|\bif\s*\(\s*(?:false|0)\s*(?:\)|&&)`),
	},
}
