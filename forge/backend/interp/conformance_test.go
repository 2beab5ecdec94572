package interp_test

import (
	"testing"

	"forgekernel/forge/backend/conformance"
	"forgekernel/forge/backend/interp"
)

func TestConformance(t *testing.T) { conformance.Run(t, interp.New()) }

// TestConformanceSerial runs the suite on one goroutine per kernel.
func TestConformanceSerial(t *testing.T) {
	b := interp.New()
	b.Workers = 1
	conformance.Run(t, b)
}
