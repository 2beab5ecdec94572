// Package gocell runs Go in notebook cells. A [Session] keeps variables,
// functions, types, methods and imports from cell to cell, lets every one of
// them be redefined, shows the value of a cell's last expression, and reports
// errors in the person's own line numbers.
//
// # Two halves
//
// The front end, this package, parses a cell, splits it into declarations and
// statements, checks it with go/types against the session's live objects, and
// answers completion and inspection from the same objects. The engine, package
// eval, is handed well-typed syntax as an eval.Unit, translates it and runs it.
// Compiled packages and their documentation come from package hostpkg.
//
// # How a cell becomes a package
//
// Every cell is checked as one package of path main. Its declarations are the
// package's; its statements are the body of one function. Top-level variables
// that := defines are checked as the local variables they are written as, so
// that scopes begin where Go says, and become package variables afterwards;
// those that a function of the same cell uses are declared at package level
// from the start. The session's variables, constants and functions that the
// cell mentions are put into its scope as stand-ins that live no longer than
// the cell; packages that it mentions without importing them are imported.
//
// # Redefinition
//
// A variable or function that is declared again with the same type keeps its
// storage or code cell, so everything that refers to it sees the new one. With
// another type, the functions and methods that use the name, directly or not,
// are checked and translated again from their source, in one go with the cell;
// those that no longer fit are reported, and calling them fails with the
// reason. A type that is declared again is a new type and values made before
// keep the old one, unless the declaration says the same as before. Methods may
// be added to or replaced on types of earlier cells; values made before have
// them too.
//
// # What fails, and how
//
// A cell that does not compile changes nothing. A panic keeps what ran before
// it, and takes back the names that the cell did not get to define. Panics of
// goroutines are reported and end only these. os.Exit and log.Fatal end the
// cell. Interrupts stop loops, calls and waits, run deferred calls, and keep
// the state; a goroutine inside compiled code that cannot be stopped is left
// behind and ends when that returns.
//
// A few things cannot be run rightly and are refused with a sentence: a struct
// type without a name that has promoted methods as an interface value, the Func
// of a reflect.Method, methods on values of a one-pointer array type, and
// generic code of compiled packages other than cmp, iter, maps, slices and
// single functions of errors, math/rand/v2, reflect, sync and sync/atomic.
package gocell
