package plan

import (
	"fmt"
	"strings"
)

// Text is the plan as a table for a terminal.
func (p *Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "naive %d, planned %d, lower bound %d (ratio %.2f), any schedule %d, scratch %d bytes\n", p.Naive, p.Planned, p.Lower, p.Ratio(), p.Bound, p.Scratch)
	for _, v := range p.Values {
		fmt.Fprintf(&b, "%+v\n", v)
	}
	return b.String()
}
