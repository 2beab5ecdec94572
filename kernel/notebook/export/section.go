package export

import "forgekernel/kernel/notebook"

// sections are the levels of the collapsed headings that a cell is under, as JupyterLab
// keeps them: a heading hides what follows, up to the next one of its level or above.
type sections []int

// end leaves the sections that a heading of a level ends, and counts them.
func (s *sections) end(level int) int {
	before := len(*s)
	for n := before; n > 0 && (*s)[n-1] >= level; n-- {
		*s = (*s)[:n-1]
	}
	return before - len(*s)
}

// begin enters the section of a heading, if it is collapsed.
func (s *sections) begin(level int, c *notebook.Cell) bool {
	collapsed, _ := c.Metadata["jp-MarkdownHeadingCollapsed"].(bool)
	if collapsed {
		*s = append(*s, level)
	}
	return collapsed
}
