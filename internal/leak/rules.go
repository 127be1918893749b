package leak

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// ruleFile is the part of a gitleaks configuration that its default one uses.
// Unlike config.Config it compiles nothing: of 222 expressions a scan needs a
// few. https://github.com/gitleaks/gitleaks#configuration
type ruleFile struct {
	Allowlist ruleAllow  `toml:"allowlist"`
	Rules     []ruleSpec `toml:"rules"`
}

type ruleSpec struct {
	ID          string         `toml:"id"`
	Regex       string         `toml:"regex"`
	Path        string         `toml:"path"`
	SecretGroup int            `toml:"secretGroup"`
	Entropy     float64        `toml:"entropy"`
	Keywords    []string       `toml:"keywords"`
	Allowlists  []ruleAllow    `toml:"allowlists"`
	Required    []ruleRequired `toml:"required"`
	SkipReport  bool           `toml:"skipReport"`
}

type ruleAllow struct {
	Condition   string   `toml:"condition"` // "AND"; else any of the lists is enough
	Paths       []string `toml:"paths"`
	RegexTarget string   `toml:"regexTarget"` // "match", "line"; else the secret
	Regexes     []string `toml:"regexes"`
	StopWords   []string `toml:"stopwords"`
}

// ruleRequired makes a rule of several parts. The default rules have none.
type ruleRequired struct {
	ID string `toml:"id"`
}

func gitleaksRules() (ruleFile, error) {
	var file ruleFile
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		return ruleFile{}, fmt.Errorf("rules of gitleaks: %w", err)
	}
	return file, nil
}

func newFormats() *formats {
	file, err := gitleaksRules()
	if err != nil {
		panic(err) // a part of this program, and tested
	}
	f := &formats{global: newAllow(file.Allowlist)}
	byWord := map[string][]*rule{}
	var texts []string
	for _, spec := range file.Rules {
		r := newRule(spec)
		if spec.Regex == "" {
			f.byPath = append(f.byPath, r)
			continue
		}
		for _, w := range spec.Keywords {
			w = strings.ToLower(w)
			if byWord[w] == nil {
				texts = append(texts, w)
			}
			byWord[w] = append(byWord[w], r)
		}
	}
	f.words = newWords(texts)
	for _, w := range texts {
		f.rules = append(f.rules, byWord[w])
	}
	return f
}
