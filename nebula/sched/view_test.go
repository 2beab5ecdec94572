package sched

import (
	"testing"
	"time"

	"forgekernel/nebula/cache"
)

func TestMetricsTable(t *testing.T) {
	m := Metrics{Queued: 3, Running: 2, Rate: 41.26, StepTime: 1234567, Steps: 9, Prompt: 30, Generated: 12, Preemptions: 1,
		Finished: map[Reason]uint64{Length: 4, Stopped: 1},
		KV:       cache.Stats{Blocks: 10, Used: 4, Shared: 1, Cached: 3, Free: 3, Prompt: 40, Hit: 10}, Err: ErrClosed}
	want := [][2]string{
		{"requests", "2 running, 3 queued"},
		{"finished", "1 stop, 4 length"},
		{"generated", "12 tokens, now 41.3/s"},
		{"prompts", "30 tokens computed, 25 % found in the cache"},
		{"steps", "9 of 1.235ms"},
		{"KV blocks", "4 of 10 used, 1 of them shared; 3 kept, 3 free"},
		{"preemptions", "1"},
		{"closed", "the scheduler is closed"},
	}
	rows := m.table().Rows
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		if row[0] != want[i][0] || row[1] != want[i][1] {
			t.Errorf("%v, want %v", row, want[i])
		}
	}
}

func TestTimesThatNeverCame(t *testing.T) {
	u := Usage{Submitted: time.Unix(5, 0)}
	if u.Queued() != 0 || u.TimeToFirst() != 0 || u.PerToken() != 0 {
		t.Errorf("%v, %v, %v", u.Queued(), u.TimeToFirst(), u.PerToken())
	}
}
