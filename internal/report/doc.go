// Package report renders the record of a run: the job summary, the pull
// request's title and body, checkpoint messages, the JSON report, the HTML
// page, the session log and the lines of the live log. Everything here is a
// pure function of ralph.Report or ralph.Event: no I/O, no clock, no
// environment. Every text in a report is foreign (the user's own prompt
// included) and reaches a rendering only through the functions of escape.go.
package report
