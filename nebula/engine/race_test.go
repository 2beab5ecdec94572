//go:build race

package engine

// slowness is how much longer than usual ranks may take under the race detector.
const slowness = 3
