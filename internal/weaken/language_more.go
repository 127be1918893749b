package weaken

func rust() *language {
	return &language{
		name: "rust", inline: true,
		lexis:     lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: `"`, end: `"`, many: true}}, rust: true},
		tests:     re(`(?:^|/)tests?/.*\.rs$|(?:^|/)(?:tests?|\w+_tests?)\.rs$`),
		attribute: re(`#\[(?:\w+::)*(?:test|rstest|test_case|wasm_bindgen_test|quickcheck)\b`),
		skip: []mark{
			{rule: "#[ignore]", re: re(`#\[(?:ignore\b|cfg_attr\([^\]\n]*\bignore\b)`)},
		},
		assert:   re(`\b\w*assert\w*!?\s*\(|\bexpect_\w+\(|\bpanic!|\.unwrap_err\(`),
		trivial:  re(`\bassert!\(\s*true\b|\bassert_eq!\(\s*(?:true,\s*true|1,\s*1)\s*\)`),
		weak:     re(`\.is_some\(\)|\.is_ok\(\)|\bis_empty\(\)`),
		disabled: re(`\bif false\b|#\[cfg\((?:any\(\)|FALSE|never|not\(test\))\)\]`),
	}
}

func ruby() *language {
	return &language{
		name: "ruby", indent: true,
		lexis: lexis{line: []string{"#"}, block: [][2]string{{"=begin", "\n=end"}}, quotes: []quote{doubleQuote, singleQuote}, word: true},
		tests: re(`_(?:spec|test)\.rb$|(?:^|/)test_[^/]*\.rb$|(?:^|/)(?:spec|test)/.*\.rb$`),
		call:  re(`(?m)^[ \t]*(?:it|specify|scenario|example|test|xit|xspecify|xscenario|fit|its)[ \t]*\(?[ \t]*["']`),
		named: re(`(?m)^[ \t]*def[ \t]+(test_\w+[?!]?)`),
		skip: []mark{
			{rule: "skip", re: re(`(?m)^[ \t]*(?:skip|pending)\b(?:[ \t]*\(?["']|[ \t]*$|[ \t]+(?:if|unless)\b)|,\s*(?:skip|pending):|:(?:skip|pending)\b`)},
			{rule: "xit", re: re(`(?m)^[ \t]*(?:xit|xdescribe|xcontext|xspecify|xscenario|xexample|xfeature)\b`)},
		},
		only:     re(`(?m)^[ \t]*(?:fit|fdescribe|fcontext|fspecify|fscenario)\b|,\s*(?:focus:\s*true|:focus\b)|(?m)^[ \t]*focus\s*$`),
		assert:   re(asserts + bare + `|\bflunk\b|\bis_expected\b|\b(?:must|wont)_\w+|\.should\b`),
		trivial:  re(`\bexpect\(\s*true\s*\)\.to\s+(?:be|eq|be_truthy)\b|\bassert\s+true\b|\bassert\(\s*true\s*\)|\bassert_equal\s*\(?\s*(?:true,\s*true|1,\s*1)\b`),
		weak:     re(`(?m)^[ \t]*assert[ \t(]+[\w.@]+\)?[ \t]*$|\bbe_truthy\b|\bnot_to be_nil\b|\bassert_not_nil\b|\brefute_nil\b|\bbe_present\b|\bnot_to raise_error\b`),
		disabled: re(`(?m)^[ \t]*(?:if false|unless true)\b`),
	}
}

func php() *language {
	return &language{
		name:      "php",
		lexis:     lexis{line: []string{"//", "#"}, block: slashes, quotes: []quote{{open: `"`, end: `"`, many: true}, {open: "'", end: "'", many: true}}},
		tests:     re(`Test(?:s|Case)?\.php$|(?:^|/)[tT]ests?/.*\.php$`),
		call:      re(`(?m)^[ \t]*(?:it|test|todo)\s*\(\s*["']`),
		named:     re(`\bfunction\s+(test\w*)\s*\(`),
		attribute: re(`#\[\s*(?:\w+,\s*)*\\?(?:PHPUnit\\Framework\\Attributes\\)?Test\b`),
		skip: []mark{
			{rule: "markTestSkipped", re: re(`\bmarkTest(?:Skipped|Incomplete)\(`)},
			{rule: "->skip", re: re(`\}\s*\)\s*(?:->\w+\([^)\n]*\)\s*)*->(?:skip\w*|todo)\(`)},
			{rule: "doesNotPerformAssertions", re: re(`\bexpectNotToPerformAssertions\(|\bDoesNotPerformAssertions\b`)},
			{rule: "Requires", re: re(`#\[Requires\w*\(`)},
		},
		only:     re(`\}\s*\)\s*(?:->\w+\([^)\n]*\)\s*)*->only\(`),
		assert:   re(`\b(?i:\w*assert\w*|expect\w*)\s*\(|\bfail\(`),
		trivial:  re(`\bassertTrue\(\s*true\s*\)|\bassertEquals\(\s*(?:1,\s*1|true,\s*true)\s*\)|\bassertSame\(\s*(?:1,\s*1|true,\s*true)\s*\)|\bexpect\(\s*true\s*\)->(?:toBeTrue|toBe\(\s*true)`),
		weak:     re(`\bassertNotNull\(|\bassertNotEmpty\(|->not->toBeNull\(|->toBeTruthy\(|\bassertInstanceOf\(`),
		disabled: re(`\bif\s*\(\s*(?:false|0)\s*(?:\)|&&)`),
	}
}

func elixir() *language {
	return &language{
		name: "elixir", indent: true,
		lexis: lexis{line: []string{"#"}, quotes: []quote{{open: `"""`, end: `"""`, many: true}, {open: `"`, end: `"`, many: true}, singleQuote}},
		tests: re(`_test\.exs$|(?:^|/)test/.*\.exs$`),
		call:  re(`(?m)^[ \t]*(?:test|property|feature|doctest)[ \t]*\(?[ \t]*"`),
		skip: []mark{
			{rule: "@tag :skip", re: re(`@(?:module|describe)?tag[ \t]*\(?[ \t]*(?::skip|skip:|:pending|pending:)`)},
			{rule: "exclude", re: re(`\bExUnit\.(?:start|configure)\b[^\n]*\b(?:exclude|only_test_ids):`)},
		},
		only:     re(`@(?:module|describe)?tag[ \t]*\(?[ \t]*(?::(?:only|focus|wip)\b|(?:only|focus):[ \t]*true)`),
		assert:   re(asserts + bare + `|\bflunk\b`),
		trivial:  re(`(?m)^[ \t]*assert[ \t]*\(?[ \t]*(?:true|1 == 1|true == true)\)?[ \t]*$|^[ \t]*refute[ \t]+(?:false|nil)[ \t]*$`),
		weak:     re(`(?m)\bassert\s+\w+[ \t]*$|\brefute is_nil\(|\bassert is_\w+\(`),
		disabled: re(`(?m)^[ \t]*if false\b`),
	}
}

func swift() *language {
	return &language{
		name:      "swift",
		lexis:     lexis{line: []string{"//"}, block: slashes, quotes: []quote{{open: `"""`, end: `"""`, many: true}, doubleQuote}},
		tests:     re(`(?:Tests?|Spec)\.swift$|(?:^|/)\w*Tests?/.*\.swift$`),
		named:     re(`\bfunc\s+(test\w*)\s*\(`),
		attribute: re(`@Test\b`),
		skip: []mark{
			{rule: "XCTSkip", re: re(`\bXCTSkip\w*\(`)},
			{rule: "XCTExpectFailure", re: re(`\bXCTExpectFailure\w*\b|\bwithKnownIssue\b`)},
			{rule: ".disabled", re: re(`@(?:Test|Suite)\([^)\n]*\.(?:disabled|enabled)\(`)},
		},
		assert:   re(asserts + `|#require\(|\bXCT(?:Fail|Unwrap)\b|\bIssue\.record\b`),
		trivial:  re(`\bXCTAssert(?:True)?\(\s*true\s*\)|\bXCTAssertFalse\(\s*false\s*\)|#expect\(\s*(?:true|1 == 1|Bool\(true\))\s*\)|\bXCTAssertEqual\(\s*1,\s*1\s*\)`),
		weak:     re(`\bXCTAssertNotNil\(|\bXCTAssertNoThrow\(|!= nil\b`),
		disabled: re(`\bif false\b|(?m)^[ \t]*#if (?:false|DISABLED|NEVER)\b`),
	}
}

func cpp() *language {
	return &language{
		name:  "cpp",
		lexis: lexis{line: []string{"//"}, block: slashes, quotes: []quote{doubleQuote, singleQuote}},
		tests: re(`(?i)(?:^|/)(?:tests?|unittests?|gtest)/.*\.(?:c|cc|cpp|cxx|h|hpp|mm?)$|(?:^|/)(?:test_[^/]*|[^/]*(?:_test|_tests|_unittest|tests?|\.test))\.(?:c|cc|cpp|cxx|mm?)$`),
		macro: re(`\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|TEST_CASE|TEST_CASE_METHOD|SCENARIO|BOOST_AUTO_TEST_CASE|TEST_METHOD|PARAM_TEST_CASE|CTEST|Test)\s*\(`),
		named: re(`(?m)^(?:static )?(?:void|int)[ \t]+(test_\w+)\s*\(`),
		skip: []mark{
			{rule: "DISABLED_", re: re(`\bDISABLED_\w+`)},
			{rule: "GTEST_SKIP", re: re(`\b(?:GTEST_SKIP|SKIP|TEST_IGNORE\w*|CTEST_SKIP|BOOST_TEST_DONT_\w+|ck_assert_skip)\s*\(|\bdisabled\(\)|\bskip\(\)`)},
			{rule: "[.]", re: re(`\b(?:TEST_CASE|SCENARIO)\s*\([^)\n]*\[(?:\.[^\]\n]*|!(?:hide|mayfail|shouldfail|benchmark))\]`), text: true},
		},
		assert:   re(asserts + `|\b(?:CHECK|REQUIRE|EXPECT|ASSERT|BOOST|TEST_ASSERT)\w*\s*\(|\bck_\w+\(|\bFAIL\(`),
		trivial:  re(`\b(?:EXPECT|ASSERT)_TRUE\(\s*(?:true|1)\s*\)|\b(?:CHECK|REQUIRE)\(\s*(?:true|1|1 == 1)\s*\)|\b(?:EXPECT|ASSERT)_EQ\(\s*(?:1,\s*1|true,\s*true)\s*\)|\bSUCCEED\(\)|\bassert\(\s*(?:true|1)\s*\)`),
		weak:     re(`\b(?:EXPECT|ASSERT)_NE\([^,\n]*,\s*nullptr\)|\b(?:EXPECT|ASSERT)_NO_THROW\(`),
		disabled: re(`(?m)^[ \t]*#[ \t]*if(?:[ \t]+0\b|def[ \t]+(?:DISABLED|NEVER)\w*)|\bif\s*\(\s*(?:false|0)\s*(?:\)|&&)`),
	}
}

func shell() *language {
	return &language{
		name:  "shell",
		lexis: lexis{line: []string{"#"}, quotes: []quote{{open: `"`, end: `"`, many: true}, {open: "'", end: "'", raw: true, many: true}}, word: true},
		tests: re(`\.bats$|(?:^|/)(?:test_[^/]*|[^/]*_test)\.(?:sh|bash)$`),
		call:  re(`(?m)^[ \t]*@test[ \t]+["']`),
		named: re(`(?m)^[ \t]*(?:function[ \t]+)?(test_?\w+)[ \t]*\(\)`),
		skip: []mark{
			{rule: "skip", re: re(`(?m)(?:^|[;&|{])[ \t]*(?:skip|startSkipping)(?:[ \t]*["';}]|[ \t]*$|[ \t]+\w)`)},
		},
		only:     re(`bats test_tags=[^\n]*bats:focus`),
		assert:   re(asserts + `|(?m)^[ \t]*(?:assert|refute)\w*\b|^[ \t]*\[\[?[ \t]|^[ \t]*\(\(|\bfail\b|^[ \t]*(?:run )?grep\b|\btest [-"$]`),
		trivial:  re(`(?m)^[ \t]*(?:true|:|\[[ \t]+(?:1 -eq 1|true|1 = 1)[ \t]+\])[ \t]*$`),
		weak:     re(`\[ -n\b`),
		disabled: re(`(?m)^[ \t]*if false\b`),
	}
}
