//go:build race

package front

// The race detector is in the fake session too. It has its own words for racing
// goroutines and for memory that it cannot have.
const underRace = true
