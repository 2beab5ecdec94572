//go:build race

package cpu_test

// The race detector drops some of what is put into a pool, to mix up who gets
// what.
const underRace = true
