package display

import "testing"

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 6208: "6.06 KiB", 1 << 20: "1 MiB", 1<<40 + 1<<39: "1.5 TiB", 1<<63 - 1: "8 EiB", -2048: "-2 KiB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
