package notebook

import (
	"fmt"
	"strings"
)

// TagSkip marks a cell that is not run.
const TagSkip = "skip-execution"

// Runs reports whether the cell takes part in a run: it holds code, and no tag forbids it.
func (c *Cell) Runs() bool {
	return c.Type == Code && strings.TrimSpace(c.Source) != "" && !c.HasTag(TagSkip)
}

// Place is where a cell stands in its notebook. There are two ways to count: people who
// look at the file count all cells, and the kernel, whose errors say "cell 3", those that
// it was given. A place knows both.
type Place struct {
	Index int // among all cells, from 0
	Run   int // among those that run, from 1, as Jupyter's In [n]; 0 for one that does not
}

// Place is that of the cell at index.
func (nb *Notebook) Place(index int) Place {
	p := Place{Index: index}
	if !nb.Cells[index].Runs() {
		return p
	}
	for _, c := range nb.Cells[:index+1] {
		if c.Runs() {
			p.Run++
		}
	}
	return p
}

// String is "code cell 3 (cell 7 of the notebook)", or "cell 3" where both counts agree.
func (p Place) String() string {
	switch p.Run {
	case p.Index + 1:
		return fmt.Sprintf("cell %d", p.Run)
	case 0:
		return fmt.Sprintf("cell %d of the notebook", p.Index+1)
	}
	return fmt.Sprintf("code cell %d (cell %d of the notebook)", p.Run, p.Index+1)
}
