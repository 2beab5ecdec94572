// Package gocell runs Go in notebook cells. A [Session] keeps variables,
// functions, types, methods and imports from cell to cell, lets every one of
// them be redefined, shows the value of a cell's last expression, and reports
// errors in the person's own line numbers.
//
// It has two halves with the [Engine] interface between them. The front end
// (this package) parses a cell, splits it into declarations and statements,
// checks it with go/types against the session's live objects, and answers
// completion and inspection from the same objects. The engine (package eval)
// runs checked syntax; it never sees an ill-typed program.
//
// A cell becomes one package named main. Its declarations are the package's,
// its statements are the body of one function, and the names that its
// top-level statements declare become package variables once the checker has
// seen them as the local variables they are written as.
package gocell
