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
// It is our own and the only one: interpreted types are real reflect types with
// methods (package rtype), which is what lets fmt, errors and encoding treat
// them as Go does. Compiled packages and their documentation come from package
// hostpkg.
//
// # How a cell becomes a package
//
// Every cell is checked as one package of path main. Its declarations are the
// package's; its statements are the body of one function. Top-level variables
// that := defines are checked as the local variables they are written as, so
// that scopes begin where Go says, and become package variables afterwards;
// those that a function of the same cell uses are declared at package level
// from the start. Declarations of variables run in their place between the
// statements, and what needs one earlier is refused. The session's variables, constants and functions that the
// cell mentions are put into its scope as stand-ins that live no longer than
// the cell; packages that it mentions without importing them are imported.
//
// # Redefinition
//
// A variable or function that is declared again with the same type keeps its
// storage or code cell, so everything that refers to it sees the new one. With
// another type, the functions and methods that use it, directly or not, are
// checked and translated again from their source, in one go with the cell; what
// a declaration uses is known from the checker, so that a field of the same
// name does not count as a use. Those that no longer fit are reported, and calling
// them fails with the reason. A method of a generic type is checked again as a generic
// function with the receiver's type parameters, and becomes a call of it.
//
// A type that is declared again is a new type and values made before keep the
// old one, unless the declaration says the same as before. It takes over the
// methods of the old type that fit it. Methods may be added to or replaced on
// types of earlier cells, generic ones too; values made before have them too.
//
// Cells may run beside one another. Checking and committing happens one cell at
// a time, running does not.
//
// # Debugging
//
// The engine keeps where statements begin and where variables are, from the
// debug references of go/ssa; that costs memory and no time. [Session.Debugger]
// halts goroutines and looks into them, [Session.Panicked] has the calls of the
// latest panic. Expressions and assignments are checked and run as cells are, with
// the variables of a call in scope.
//
// # Modules
//
// [Session.Get] makes the packages of a module importable. They are checked with
// the language version of their module, translated like cells and initialised
// before the first cell that uses them runs. So are some packages of the standard
// library and gonum, whose source is part of the binary (hostpkg.Interpreted).
// An initialisation that is interrupted is begun anew by the next cell that uses
// the package; when it panics, the package cannot be used until a reset.
//
// # What fails, and how
//
// A cell that does not compile changes nothing. A panic keeps what ran before
// it, and takes back the names that the cell did not get to define: a variable
// of another type is the former one again, unless a function uses the new one.
// A bound method keeps the signature and code that it had; calls through an
// interface of a method whose signature has changed since fail. A panic
// of a goroutine that its cell started ends the cell, as an interrupt would, while
// that runs; once it is over, the panic is reported and ends only the goroutine, as
// are those of functions that timers and servers call. os.Exit and log.Fatal end the
// cell, in a goroutine of it too. Interrupts stop loops, calls and waits, run deferred calls, and keep
// the state; a goroutine inside compiled code that cannot be stopped is left
// behind and ends when that returns. A cell that is interrupted while it is
// checked changes nothing. The nesting of types, index expressions and blocks is bounded.
//
// # Go that is refused
//
// Each is refused with a sentence, never run wrongly:
//
//   - cgo, and functions without a body
//
// # Where Go does something else
//
// A deadlock is not reported: a timer, a server or a signal handler of compiled
// code may hold a function or a channel of the cell, and nobody can see from
// outside that it will never use it.
//
//	what                                      here                          Go
//	nested calls                              at most 100,000               1 GB of stack
//	debug.SetMaxStack                         remembered                    obeyed
//	flag.Parse, testing.Main                  a cell's arguments; refused   the program's
//	calls through compiled code and back      at most 5,000 at once         1 GB of stack
//	make of more than the memory              a panic                       ends the program
//	%T of a struct literal that embeds        names the embedded fields     does not
//	a panic in a goroutine                    ends its cell, or is          ends the program
//	                                          reported when that is over
//	finalizers, cleanups                      may run late: a frame keeps   run once nothing
//	                                          what it held until used again refers to them
//	a deadlock                                waits for an interrupt        ends the program
//	os.Exit, log.Fatal, runtime.Goexit        end the cell                  end the program
//	os.Args                                   one made-up name              the command line
//	f(x[i], g()) where g changes x[i]         operands from left to right   not specified
//	runtime.Caller, Callers, Stack, log/slog  cells' calls and lines alone  compiled ones, too
//	the source of a record of log/slog that   is left out                   is shown
//	a handler passes on to another
//	unused variables, imports and labels      accepted                      errors
//	unlocking a mutex that is not locked      a panic                       ends the program
//	a second runtime.SetFinalizer             takes the first one's place   ends the program
//	closing a standard stream                 does nothing                  closes it
package gocell
