package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/capture"
	"forgekernel/forge/suite"
)

// The table of times is that of the capture beside it, and what README says of it follows.
func TestReadme(t *testing.T) {
	const folder = "../../../forge/capture/benchmarks/"
	c, err := capture.Read(folder + "cpu.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.NewReport(c, false)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(folder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(table), r.Summary()) {
		t.Errorf("%sREADME.md does not hold the summary of its capture: run forge bench report with --update on it", folder)
	}
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		slower(c, "onnxruntime") + " times as fast ([table](forge/capture/benchmarks/README.md))",
		slower(c, "torch-eager") + " times; " + slower(c, "torch-compile") + " times",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
	if names := workloadNames(c); !slices.Equal(names, suite.Names()) {
		t.Errorf("the capture has the workloads %v; the suite has %v", names, suite.Names())
	}
	if failures := c.Failures(); len(failures) > 0 {
		t.Error(failures)
	}
}

// slower is how many times as long a peer takes as the optimised program, from the least
// to the most of all workloads.
func slower(c *capture.Capture, peer string) string {
	least, most := math.Inf(1), 0.0
	for _, w := range c.Workloads {
		took := make(map[string]float64)
		for _, s := range w.Series {
			if s.Variant != capture.Written {
				took[s.Backend] = s.Summary.Median
			}
		}
		ratio := took[peer] / took["cpu"]
		least, most = min(least, ratio), max(most, ratio)
	}
	return fmt.Sprintf("%.1f to %.1f", least, most)
}

func workloadNames(c *capture.Capture) (names []string) {
	for _, w := range c.Workloads {
		names = append(names, w.Name)
	}
	return names
}
