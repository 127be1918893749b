// Package price estimates what tokens cost, from a dated table of list prices
// and from the user's own prices above it. It alone knows how models are named
// by those who sell them. An estimate says that it is one; what cannot be told
// from a turn's totals is a lower bound, and an unknown model stays unknown.
package price
