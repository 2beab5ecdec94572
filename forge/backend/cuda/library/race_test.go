//go:build race

package library

// raceEnabled says that pools forget things at random.
const raceEnabled = true
