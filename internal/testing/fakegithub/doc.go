// Package fakegithub is GitHub for tests: git over smart HTTP and the REST and
// GraphQL API that publishing uses, on GitHub's own paths, with its rights,
// limits, refusals and words. Only tests import it. The sources of the shapes
// are docs.github.com/rest and docs.github.com/graphql; those of the refusals,
// which no document lists, are the threads in which people quote them.
//
// A Forge is an http.Handler over real bare repositories. It stands on package
// gitserver, which serves git; everything else is its own.
package fakegithub
