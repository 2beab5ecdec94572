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

// TestResident runs the suite for devices on one that is the host itself.
func TestResident(t *testing.T) { conformance.RunResident(t, conformance.OnHost(interp.New())) }
