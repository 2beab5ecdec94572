package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Shape is a machine that a job expects: how many GPUs there are, and what they are.
type Shape struct {
	GPUs int
	Name string // a part of the name of each, in upper or lower case
}

var shapePattern = regexp.MustCompile(`^([1-9][0-9]?)x([A-Za-z0-9][A-Za-z0-9 ._-]*)$`)

// ParseShape reads a shape as it is written: "2xT4".
func ParseShape(text string) (Shape, error) {
	m := shapePattern.FindStringSubmatch(text)
	if m == nil {
		return Shape{}, fmt.Errorf("%q is not a machine: write how many GPUs of which name, such as 2xT4", text)
	}
	n, err := strconv.Atoi(m[1])
	return Shape{n, m[2]}, err
}

func (s Shape) String() string { return fmt.Sprintf("%dx%s", s.GPUs, s.Name) }

// Expect are the checks of a job's host, and before them that it is the machine that the
// job expects, with everything that programs on its GPUs need.
func Expect(s Shape) []Check {
	return append([]Check{{"machine", s.look}}, checks...)
}

func (s Shape) look(ctx context.Context, h *Host) Finding {
	const fix = "this job is not for this machine: ask for the other one, or send the job with another --expect"
	list, err := h.gpus(ctx)
	if err != nil {
		return Finding{State: Fail, Found: fmt.Sprintf("expected %v; found: %v", s, err), Fix: fix}
	}
	var names []string
	match := len(list) == s.GPUs
	for _, g := range list {
		names = append(names, g.name)
		match = match && strings.Contains(strings.ToLower(g.name), strings.ToLower(s.Name))
	}
	found := fmt.Sprintf("expected %v; found %d: %s", s, len(list), strings.Join(names, ", "))
	if !match {
		return Finding{State: Fail, Found: found, Fix: fix}
	}
	if libraries := CUDALibraries(ctx, h); libraries.State != OK {
		return Finding{State: Fail, Found: found + "; but " + libraries.Found, Fix: libraries.Fix}
	}
	return Finding{State: OK, Found: found}
}
