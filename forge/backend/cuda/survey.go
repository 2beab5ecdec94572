package cuda

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"forgekernel/display"
	"forgekernel/forge/backend/cuda/driver"
	"forgekernel/forge/backend/cuda/nvrtc"
)

// Present reports whether this host seems to have a driver for GPUs. It opens nothing,
// so that a process may ask that must not use one.
func Present() bool {
	for _, node := range []string{"/dev/nvidiactl", "/dev/dxg"} {
		if _, err := os.Stat(node); err == nil {
			return true
		}
	}
	return false
}

// Survey is what a host has of devices, and of what is needed to use them.
type Survey struct {
	Devices  driver.Devices
	Driver   string // the newest CUDA that the driver serves: "13.0"; empty when there is none
	Compiler string // the version of NVRTC: "12.9"; empty when there is none
	Missing  []error
}

// Look opens the driver and NVRTC.
func Look() Survey {
	var s Survey
	missing := func(err error) { s.Missing = append(s.Missing, err) }
	if lib, err := driver.Open(); err != nil {
		missing(err)
	} else {
		s.Driver = lib.Version.String()
		if s.Devices, err = lib.Devices(); err != nil {
			missing(err)
		}
	}
	if c, err := nvrtc.Open(); err != nil {
		missing(err)
	} else {
		s.Compiler = c.Version
	}
	return s
}

// missing is what is missing, in one line.
func (s Survey) missing() string {
	var reasons []string
	for _, err := range s.Missing {
		reasons = append(reasons, err.Error())
	}
	if len(reasons) == 0 && len(s.Devices) == 0 {
		return "the driver tells of no GPU that this process may use"
	}
	return strings.Join(reasons, "; ")
}

// Lacks says why programs cannot use n GPUs here, what comes first: without a driver
// nobody asks for a compiler. It is empty when they can.
func (s Survey) Lacks(n int) string {
	switch {
	case len(s.Missing) > 0:
		return s.Missing[0].Error()
	case n == 1 && len(s.Devices) == 0:
		return s.missing()
	case len(s.Devices) < n:
		return fmt.Sprintf("this needs %d GPUs, and the process may use %d", n, len(s.Devices))
	}
	return ""
}

// Display is a table of the devices, and what is missing.
func (s Survey) Display() display.Bundle {
	missing := s.missing()
	if len(s.Devices) == 0 {
		return display.Text("Programs run on the processor: " + missing + ".")
	}
	t := display.Table{Columns: []display.Column{
		{Name: "device", Align: display.AlignRight}, {Name: "name"}, {Name: "compute capability"}, {Name: "memory", Align: display.AlignRight},
		{Name: "CUDA of the driver"}, {Name: "NVRTC"},
	}}
	for _, d := range s.Devices {
		t.Rows = append(t.Rows, []any{d.Ordinal, d.Name, d.Capability.String(), display.FormatBytes(d.Memory), s.Driver, cmp.Or(s.Compiler, missing)})
	}
	return t.Display()
}
