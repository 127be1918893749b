// Package words says in a few words what an iteration came to, and how much of
// everything there was: the documents and the logs speak alike. What it returns is
// plain text; foreign text in it is named as such.
package words
