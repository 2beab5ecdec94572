package collective

import (
	"context"
	"fmt"

	"forgekernel/forge/backend"
	"forgekernel/forge/tensor"
)

// chunkSize is the number of bytes that a rank writes to another before it reads
// what the other wrote. A ring holds eight, and no pattern has more than three on
// their way, so that no two ranks wait for each other's ring to empty.
func chunkSize(buffer int) int { return min(buffer/8, 64<<10) }

// divided is the size in bytes from which on more than two ranks reduce a part
// each and exchange the results, in place of everything being sent to everyone.
const divided = 32 << 10

// collect runs a collective.
func (g *group) collect(ctx context.Context, c call, bytes int, pattern func() error) error {
	g.call.Lock()
	defer g.call.Unlock()
	g.seq++
	err := g.begin(ctx, c, g.seq)
	if err == nil {
		err = g.announce()
	}
	if err == nil {
		err = pattern()
	}
	return g.end(bytes, err)
}

// AllReduce implements [backend.Collective].
func (g *group) AllReduce(ctx context.Context, how backend.Reduction, t *tensor.Tensor) error {
	c := call{op: AllReduce, how: how}
	c.shape(t)
	b := memory(t)
	return g.collect(ctx, c, len(b), func() error {
		if len(g.members) > 2 && len(b) >= divided {
			return g.reduceParts(b)
		}
		return g.reduceAll(b)
	})
}

// reduceAll sends everything to everyone.
func (g *group) reduceAll(b []byte) error {
	return g.rounds(len(b), g.chunk, func(from, to int) error {
		return g.writeAll(b[from:to])
	}, func(from, to int) error {
		return g.fold(b[from:to], b[from:to])
	})
}

// reduceParts has every rank reduce a part of each round and send the result.
func (g *group) reduceParts(b []byte) error {
	n := len(g.members)
	return g.rounds(len(b), n*g.chunk, func(from, to int) error {
		for r, l := range g.links {
			if l == nil {
				continue
			}
			if err := g.write(l, part(b[from:to], r, n)); err != nil {
				return err
			}
		}
		return nil
	}, func(from, to int) error {
		mine := part(b[from:to], g.rank, n)
		if err := g.fold(mine, mine); err != nil {
			return err
		}
		if err := g.writeAll(mine); err != nil {
			return err
		}
		g.publish()
		return g.readAll(func(r int) []byte { return part(b[from:to], r, n) })
	})
}

// part is share i of n of some bytes: whole lines, but for the end.
func part(b []byte, i, n int) []byte {
	size := (len(b)/n + line) &^ (line - 1)
	return b[min(i*size, len(b)):min((i+1)*size, len(b))]
}

// ReduceScatter implements [backend.Collective].
func (g *group) ReduceScatter(ctx context.Context, how backend.Reduction, dst, src *tensor.Tensor) error {
	if err := g.parts("reduce_scatter", src, dst); err != nil {
		return err
	}
	c := call{op: ReduceScatter, how: how}
	c.shape(src)
	to, all := memory(dst), memory(src)
	n := len(to)
	return g.collect(ctx, c, len(all), func() error {
		return g.rounds(n, g.chunk, func(i, j int) error {
			for r, l := range g.links {
				if l == nil {
					continue
				}
				if err := g.write(l, all[r*n+i:r*n+j]); err != nil {
					return err
				}
			}
			return nil
		}, func(i, j int) error {
			return g.fold(to[i:j], all[g.rank*n+i:g.rank*n+j])
		})
	})
}

// AllGather implements [backend.Collective].
func (g *group) AllGather(ctx context.Context, dst, src *tensor.Tensor) error {
	if err := g.parts("all_gather", dst, src); err != nil {
		return err
	}
	c := call{op: AllGather}
	c.shape(src)
	all, own := memory(dst), memory(src)
	n := len(own)
	return g.collect(ctx, c, n, func() error {
		copy(all[g.rank*n:], own)
		return g.rounds(n, g.chunk, func(i, j int) error {
			return g.writeAll(own[i:j])
		}, func(i, j int) error {
			return g.readAll(func(r int) []byte { return all[r*n+i : r*n+j] })
		})
	})
}

// parts checks that a tensor holds one part for each rank.
func (g *group) parts(op string, all, part *tensor.Tensor) error {
	if all.DType() != part.DType() || all.Len() != part.Len()*len(g.members) {
		return fmt.Errorf("%s among %d ranks: %v%s is not %d times %v%s", op, len(g.members),
			all.DType(), tensor.FormatShape(all.Shape()), len(g.members), part.DType(), tensor.FormatShape(part.Shape()))
	}
	return nil
}

// Broadcast implements [backend.Collective].
func (g *group) Broadcast(ctx context.Context, root int, t *tensor.Tensor) error {
	if root < 0 || root >= len(g.members) {
		return fmt.Errorf("broadcast: there is no rank %d in a group of %d", root, len(g.members))
	}
	c := call{op: Broadcast, peer: uint32(root)}
	c.shape(t)
	b := memory(t)
	return g.collect(ctx, c, len(b), func() error {
		return g.rounds(len(b), g.chunk, func(i, j int) error {
			if g.rank != root {
				return nil
			}
			return g.writeAll(b[i:j])
		}, func(i, j int) error {
			if g.rank == root {
				return nil
			}
			return g.read(g.links[root], b[i:j])
		})
	})
}

// Barrier implements [Group].
func (g *group) Barrier(ctx context.Context) error {
	nothing := func(int, int) error { return nil }
	return g.collect(ctx, call{op: Barrier}, 0, func() error { return g.rounds(0, g.chunk, nothing, nothing) })
}

// rounds goes through n bytes in steps: first all ranks write, then all read. The
// ranks meet in the first round, also where there are no bytes.
func (g *group) rounds(n, step int, write, read func(from, to int) error) error {
	for from := 0; from == 0 || from < n; from += step {
		to := min(from+step, n)
		if err := write(from, to); err != nil {
			return err
		}
		g.publish()
		if from == 0 {
			if err := g.meet(); err != nil {
				return err
			}
		}
		if err := read(from, to); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes the same bytes to all other ranks.
func (g *group) writeAll(b []byte) error {
	for _, l := range g.links {
		if l == nil {
			continue
		}
		if err := g.write(l, b); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads from every other rank where to says.
func (g *group) readAll(to func(rank int) []byte) error {
	for r, l := range g.links {
		if l == nil {
			continue
		}
		if err := g.read(l, to(r)); err != nil {
			return err
		}
	}
	return nil
}
