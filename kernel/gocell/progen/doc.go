// Package progen writes random Go programs that compile, end, and print the
// same whenever they run. They are the questions of a differential test: what
// an engine prints is compared with what the compiler's code prints.
//
// A program is made from a seed and nothing else. It declares types, constants,
// functions and methods, generic ones among them, and a main function that
// calls them and shows every value it makes. Most constructs come from chance
// alone; templates are the ones that it would not find, by the sections of Go's
// specification. A test counts in how many programs each construct is.
//
// A program can also be cut into the cells of a notebook, between which others
// declare its names as something else, declare them again, or fail.
//
// Go leaves some things open, and a program must not depend on them:
//
//   - the order of a call and a variable it changes, in one expression: calls
//     within expressions change nothing, those that do are statements
//   - which of two panics of one expression comes first: an expression has calls
//     or one operation that may panic, not both
//   - whether append moves a slice: every append either must or cannot
//   - the order of map entries, goroutines and ready channels: their effects
//     commute
//   - addresses, and integers made from floats that are out of range
package progen
