package file_test

import (
	"errors"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/file"
	"github.com/org/ralph-action/internal/config/problem"
)

// settings are the values of a settings file by input, lists joined by |.
func settings(text string) (map[string]string, error) {
	wrong := problem.NewList(nil)
	values, _ := file.Read(file.Settings, "s.json", []byte(text), config.Inputs(), wrong)
	return texts(values), wrong.Err()
}

// shell are the values of a shell-style file by input, and its variables.
func shell(text string) (values, variables map[string]string, err error) {
	wrong := problem.NewList(nil)
	given, variables := file.Read(file.Shell, "config", []byte(text), config.Inputs(), wrong)
	return texts(given), variables, wrong.Err()
}

func problems(t *testing.T, err error) []string {
	t.Helper()
	var p *problem.Problems
	if err == nil {
		return nil
	}
	if !errors.As(err, &p) {
		t.Fatalf("the error is %T, want *problem.Problems", err)
	}
	var list []string
	for _, one := range p.List {
		list = append(list, one.String())
	}
	return list
}

func texts(values map[string]file.Value) map[string]string {
	m := map[string]string{}
	for name, v := range values {
		m[name] = v.Text
		if v.Node != nil {
			var list []string
			for _, c := range v.Node.Content {
				if c.Kind == yaml.ScalarNode {
					list = append(list, c.Value)
				} else {
					list = append(list, "{}")
				}
			}
			m[name] = strings.Join(list, "|")
		}
	}
	return m
}
