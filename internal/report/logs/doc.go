// Package logs renders events as the lines of the live log, of --verbose and of the
// restart manager, and iterations as the session log. Foreign text is cleaned, cut
// and kept on one line.
package logs
