package engine

import (
	"context"
	"runtime"
	"slices"

	"forgekernel/display"
	"forgekernel/forge/backend"
)

// Ready says for which steps the programs are compiled before the engine is there:
// those of up to so many requests, whose chunks have up to so many tokens. Other
// programs are compiled when the first step needs them.
type Ready struct {
	Rows   int // 0: no program is compiled before
	Tokens int // 0: as many as a step may have
}

// programs are those that Ready stands for, in the order in which requests come to need
// them. One request needs a program for each size of a last chunk, with logits, and
// without only that for the longest, of which long prompts are made; requests together
// need decodes of several rows, short chunks side by side, and leave one another chunks
// of any size.
func (r Ready) programs(s sizes) []bucket {
	if r.Rows < 1 {
		return nil
	}
	c, longest := newCutter(s), s.maxTokens
	if r.Tokens > 0 {
		longest = min(longest, r.Tokens)
	}
	var list []bucket
	for n := 1; ; n *= 2 {
		rows := c.decodeRows(n)
		list = append(list, bucket{rows, 1, true})
		if rows >= min(r.Rows, s.maxRows) {
			break
		}
	}
	for size := 1; size < longest; {
		size = c.size(min(size+1, longest))
		for n := c.chunkRows(1, size); n <= r.Rows && n == c.chunkRows(n, size); n *= 2 {
			list = append(list, bucket{n, size, true})
		}
		if size >= longChunk && (r.Rows > 1 || size >= longest && size < s.context) {
			list = append(list, bucket{1, size, false})
		}
	}
	return list
}

// makeReady compiles programs, and shows how far it has come. When ctx ends it returns
// the cause, and the caller closes the engine. A compiler for a device takes a second or
// more for each, on one processor, so that there are as many at once as processors; the
// programs of ranks on processors share one compilation with what they have in common,
// and come one after another.
func (l *Leader) makeReady(ctx context.Context, list []bucket) error {
	if len(list) == 0 {
		return nil
	}
	meter := display.Progress(ctx, "compiling programs", len(list))
	together := 1
	if _, device := l.self.backend.(backend.Resident); device {
		together = runtime.GOMAXPROCS(0)
	}
	for group := range slices.Chunk(list, together) {
		if err := l.prepare(ctx, group); err != nil {
			meter.Fail(err)
			return err
		}
		meter.Add(len(group))
	}
	meter.Done()
	return nil
}
