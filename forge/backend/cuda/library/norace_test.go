//go:build !race

package library

const raceEnabled = false
