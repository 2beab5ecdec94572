package cuda

import (
	"errors"
	"strings"
	"testing"

	"forgekernel/forge/backend/cuda/driver"
)

func TestSurvey(t *testing.T) {
	text := func(s Survey) string { return s.Display().Data["text/plain"].(string) }
	gpu := &driver.Device{Name: "a GPU", Capability: 75, Memory: 16 << 30}
	for name, c := range map[string]struct {
		s     Survey
		parts []string
	}{
		"all":       {Survey{Devices: driver.Devices{gpu}, Driver: "13.0", Compiler: "12.9"}, []string{"a GPU", "7.5", "16", "13.0", "12.9"}},
		"no NVRTC":  {Survey{Devices: driver.Devices{gpu}, Driver: "13.0", Missing: []error{errors.New("no libnvrtc")}}, []string{"a GPU", "no libnvrtc"}},
		"no driver": {Survey{Missing: []error{errors.New("no libcuda"), errors.New("no libnvrtc")}}, []string{"on the processor: no libcuda; no libnvrtc."}},
		"no device": {Survey{Driver: "13.0", Compiler: "12.9"}, []string{"no GPU that this process may use"}},
	} {
		for _, part := range c.parts {
			if got := text(c.s); !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in\n%s", name, part, got)
			}
		}
	}
	t.Log(text(Look()))
}

func TestLacks(t *testing.T) {
	gpu := &driver.Device{Name: "a GPU"}
	one := Survey{Devices: driver.Devices{gpu}, Driver: "13.0", Compiler: "12.9"}
	none := Survey{Missing: []error{errors.New("no libcuda"), errors.New("no libnvrtc")}}
	for _, c := range []struct {
		s    Survey
		n    int
		want string
	}{
		{one, 1, ""},
		{one, 2, "this needs 2 GPUs, and the process may use 1"},
		{none, 1, "no libcuda"},
		{Survey{Driver: "13.0", Compiler: "12.9"}, 1, "the driver tells of no GPU that this process may use"},
	} {
		if got := c.s.Lacks(c.n); got != c.want {
			t.Errorf("of %d: %q, want %q", c.n, got, c.want)
		}
	}
}
