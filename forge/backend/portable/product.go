package portable

import (
	"fmt"
	"unsafe"

	"forgekernel/forge/backend/portable/vector"
)

// product is how a matrix product [M,K] x [K,N] is cut into register tiles: blocks
// of rows, and panels of columns in units of [vector.Lanes].
type product struct {
	set     *vector.Set
	m, n, k int
	rows    []int
	panels  []int
	tiles   [maxColumns + 1][maxRows + 1]vector.Tile // by columns, in units, and rows
}

// Bounds of the extent of a tile, columns in units of [vector.Lanes].
const maxRows, maxColumns = 8, 8

// newProduct picks the tile with the least estimated time; the smaller one of
// equals.
func newProduct(set *vector.Set, m, n, k int) product {
	groups := (n + vector.Lanes - 1) / vector.Lanes
	most := make(map[int]int) // rows of a tile, by its columns
	best, least := product{set: set, m: m, n: n, k: k}, 0
	for s, tile := range set.Tiles {
		most[s.Columns] = max(most[s.Columns], s.Rows)
		best.tiles[s.Columns][s.Rows] = tile
	}
	for widest := 1; widest <= maxColumns; widest++ {
		if most[widest] == 0 {
			continue
		}
		p := best
		p.rows, p.panels = nil, nil
		highest := most[widest]
		for rest := groups; rest > 0; {
			g := min(widest, rest)
			for most[g] == 0 {
				g--
			}
			highest = min(highest, most[g])
			p.panels = append(p.panels, g)
			rest -= g
		}
		p.rows = even(m, highest)
		if cost := p.cost(); least == 0 || cost < least {
			best, least = p, cost
		}
	}
	return best
}

// cost estimates half cycles for each k: two multiply-adds or loads a cycle, and
// no less than the latency of one, four cycles.
func (p *product) cost() int {
	sum := 0
	for _, g := range p.panels {
		nv := g * p.set.Vectors
		for _, mr := range p.rows {
			sum += max(mr*nv, mr+nv, 8)
		}
	}
	return sum
}

// even cuts n into the fewest parts of at most limit, which differ by at most one.
func even(n, limit int) []int {
	parts := make([]int, (n+limit-1)/limit)
	for i := range parts {
		parts[i] = n / len(parts)
		if i < n%len(parts) {
			parts[i]++
		}
	}
	return parts
}

// widths are the columns of each panel.
func (p *product) widths() []int {
	list := make([]int, len(p.panels))
	for i, g := range p.panels {
		list[i] = g * vector.Lanes
	}
	return list
}

// widest is the most columns of a panel.
func (p *product) widest() int {
	w := 0
	for _, g := range p.panels {
		w = max(w, g*vector.Lanes)
	}
	return w
}

// highest is the most rows of a block.
func (p *product) highest() int {
	h := 0
	for _, mr := range p.rows {
		h = max(h, mr)
	}
	return h
}

// spill is the room that [product.block] needs for a panel that ends beyond N.
func (p *product) spill() int { return p.highest() * p.widest() }

func (p *product) doc() string {
	if len(p.rows) == 0 || len(p.panels) == 0 {
		return "no products"
	}
	return fmt.Sprintf("tiles of %d rows by %d columns in registers", p.rows[0], p.widths()[0])
}

// matrix is a place in memory with the steps between its rows and columns.
type matrix struct {
	data      []float32
	first     int
	row, step int
}

// window is the address of extent elements from an offset on.
func window(data []float32, first, extent int) *float32 {
	return unsafe.SliceData(data[first : first+extent])
}

// block computes rows of C for one panel, over k of its rows: b holds the panel's
// g groups of columns, bias is padded to whole panels or nil, and spill is room
// for a tile. Columns of C lie side by side.
func (p *product) block(a matrix, b matrix, g, k int, bias []float32, c matrix, row, rows, column int, spill []float32) {
	width := g * vector.Lanes
	tile := p.tiles[g][rows]
	var from, panel *float32 // a sum of no products reads neither
	if k > 0 {
		from = window(a.data, a.first+row*a.row, (rows-1)*a.row+(k-1)*a.step+1)
		panel = window(b.data, b.first, (k-1)*b.row+width)
	}
	var start *float32
	if bias != nil {
		start = window(bias, column, width)
	}
	at := c.first + row*c.row + column
	if column+width <= p.n {
		tile(from, a.row, a.step, panel, b.row, k, start, window(c.data, at, (rows-1)*c.row+width), c.row)
		return
	}
	tile(from, a.row, a.step, panel, b.row, k, start, window(spill, 0, rows*width), width)
	for r := range rows {
		copy(c.data[at+r*c.row:][:p.n-column], spill[r*width:])
	}
}

// copyPanel copies width columns of b, as far as there are any up to n, and fills
// up with zeros.
func copyPanel(dst []float32, b matrix, k, column, n, width int) {
	n = max(0, min(width, n-column))
	for i := range k {
		row := dst[i*width:][:width]
		at := b.first + i*b.row + column*b.step
		if b.step == 1 {
			copy(row[:n], b.data[at:])
		} else {
			for j := range n {
				row[j] = b.data[at+j*b.step]
			}
		}
		clear(row[n:])
	}
}
