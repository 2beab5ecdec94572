package launch

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestExit checks what is told of the end of a rank.
func TestExit(t *testing.T) {
	for _, c := range []struct {
		exit   Exit
		text   string
		abrupt bool
		lines  []string
	}{
		{Exit{Rank: 1, Code: 0}, "rank 1 exited with status 0", false, nil},
		{Exit{Rank: 1, Code: 1, Output: "begins\n\nforge: no model\n"}, "rank 1 exited with status 1: forge: no model", false, []string{"begins", "forge: no model"}},
		{Exit{Rank: 2, Code: 3, Output: "a\nb\nc\nd"}, "rank 2 exited with status 3: d", true, []string{"b", "c", "d"}},
		{Exit{Rank: 2, Code: -1, Signal: syscall.SIGKILL}, "rank 2 was ended by SIGKILL", true, nil},
		{Exit{Rank: 2, Code: -1, Signal: syscall.SIGKILL, Output: "works\n", Stopped: time.Second}, "rank 2 was stopped for 1s, and ended", true, []string{"works"}},
		{
			Exit{Rank: 0, Code: 2, Output: "panic is avoided\npanic: nil map\n\ngoroutine 7 [running]:\nmain.f()\n\tmain.go:3\nexit status 2\n"},
			"rank 0 exited with status 2: panic: nil map", true, []string{"panic: nil map", "goroutine 7 [running]:", "main.f()"},
		},
		{
			Exit{Rank: 0, Code: -1, Signal: syscall.SIGSEGV, Output: "SIGSEGV: segmentation violation\nPC=0x0\n"},
			"rank 0 was ended by SIGSEGV: SIGSEGV: segmentation violation", true, []string{"SIGSEGV: segmentation violation", "PC=0x0"},
		},
	} {
		if got := c.exit.Error(); got != c.text {
			t.Errorf("%q, not %q", got, c.text)
		}
		if got := c.exit.Abrupt(); got != c.abrupt {
			t.Errorf("%s: abrupt: %v", c.text, got)
		}
		if got := c.exit.Lines(3); !slices.Equal(got, c.lines) {
			t.Errorf("%s: %q, not %q", c.text, got, c.lines)
		}
	}
}
