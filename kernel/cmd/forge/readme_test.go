package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"forgekernel/forge/capture"
	"forgekernel/forge/suite"
)

// README's table is that of the capture beside it.
func TestReadme(t *testing.T) {
	c, err := capture.Read("../../../forge/capture/benchmarks/cpu.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.NewReport(c, false)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), r.Summary()) {
		t.Errorf("README.md does not hold the summary of its capture: run forge bench report with --update README.md")
	}
	if names := workloadNames(c); !slices.Equal(names, suite.Names()) {
		t.Errorf("the capture has the workloads %v; the suite has %v", names, suite.Names())
	}
	if failures := c.Failures(); len(failures) > 0 {
		t.Error(failures)
	}
}

func workloadNames(c *capture.Capture) (names []string) {
	for _, w := range c.Workloads {
		names = append(names, w.Name)
	}
	return names
}
