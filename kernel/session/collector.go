package session

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// By itself Go collects a small heap each time that it has grown by a few megabytes,
// which cells do all the time: a list that grows by append was collected more than it
// was filled. While little is alive the heap may therefore grow further, by slack if
// that is not more than mostGrowth.
const (
	slack      = 64 << 20 // bytes
	goGrowth   = 100      // percent of what is alive, as Go has it
	mostGrowth = 800
)

// growth is by how much the heap may grow before it is collected again, in percent of
// the bytes that are alive.
func growth(live uint64) int {
	return int(max(goGrowth, min(mostGrowth, slack*100/max(live, 1))))
}

// collector sets the growth after each collection, until somebody else does.
type collector struct{ percent int }

// paceCollector begins. Who has set GOGC wants it otherwise.
func paceCollector() {
	if os.Getenv("GOGC") == "" {
		c := &collector{percent: goGrowth}
		c.adjust()
	}
}

func (c *collector) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if percent := growth(live[0].Value.Uint64()); percent != c.percent {
		if before := debug.SetGCPercent(percent); before != c.percent { // a cell's
			debug.SetGCPercent(before)
			return
		}
		c.percent = percent
	}
	runtime.AddCleanup(new([16]uintptr), (*collector).adjust, c) // after the next collection
}
