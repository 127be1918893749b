// Package config turns action inputs, command-line flags, the configuration
// file and defaults into one validated [Config]. One table of inputs is the
// source of all of it: the decoder and the flags are made from it, and
// cmd/gen writes action.yml, the JSON schemas and the reference tables. It
// is the only package that knows YAML.
//
// It is large: the table of inputs stands with what reads and checks each of
// them, because a new input is to be one place.
package config
