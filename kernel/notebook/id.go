package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// fixIDs gives an id to every cell that has none, one that the format forbids,
// or that of an earlier cell.
func (nb *Notebook) fixIDs() {
	used := map[string]bool{}
	for _, c := range nb.Cells {
		if !validID(c.ID) || used[c.ID] {
			c.ID = ""
		}
		used[c.ID] = true
	}
	tried := map[alike]int{}
	for _, c := range nb.Cells {
		if c.ID == "" {
			c.ID = freshID(c, used, tried)
			used[c.ID] = true
		}
	}
}

// alike is what equal cells have in common.
type alike struct {
	kind   CellType
	source string
}

func validID(id string) bool {
	if len(id) < 1 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '_':
		default:
			return false
		}
	}
	return true
}

// freshID derives an id from what the cell says; equal cells are counted. What was tried
// for earlier ones is taken: to try it again takes the square of their number.
func freshID(c *Cell, used map[string]bool, tried map[alike]int) string {
	this := alike{c.Type, c.Source}
	for {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", c.Type, tried[this], c.Source))
		tried[this]++
		if id := hex.EncodeToString(sum[:4]); !used[id] {
			return id
		}
	}
}

// Insert puts a cell at index i, with an id of its own.
func (nb *Notebook) Insert(i int, c *Cell) {
	nb.Cells = append(nb.Cells, nil)
	copy(nb.Cells[i+1:], nb.Cells[i:])
	nb.Cells[i] = c
	nb.fixIDs()
}
