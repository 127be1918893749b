// Package config turns action inputs, command-line flags, the configuration
// file and defaults into one validated [Config]. One table of inputs is the
// source of all of it: the decoder and the flags are made from it, and
// cmd/gen writes action.yml, the JSON schemas and the reference tables. The packages below
// it read files and values, and know nothing of a Config.
package config
