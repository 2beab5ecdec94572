package cell

import "forgekernel/kernel/gocell"

// Go is the session's Go half, which a debugger looks into.
func (in *Interp) Go() *gocell.Session { return in.golang }

// StopLines lists the lines of a cell on which a Go statement begins that a
// debugger can halt before.
func (in *Interp) StopLines(code string) []int {
	p := split(code)
	for p.magic != nil {
		m := lookup(p.magic.name)
		if m == nil || !m.code {
			return nil
		}
		p = p.inner()
		p.lang = m.lang
	}
	if p.language() != Go || p.line > len(p.body) {
		return nil
	}
	return gocell.StopLines(p.body[p.line-1:], p.line)
}
