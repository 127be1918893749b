// Package config turns action inputs, command-line flags, the configuration
// file and defaults into one validated [Config]. One table of inputs is the
// source of all of it: the decoder, the flags, action.yml, the JSON schema and
// the reference tables follow it or are tested against it. It is the only
// package that knows YAML.
package config
