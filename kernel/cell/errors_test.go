package cell

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"forgekernel/kernel/gocell"
)

// What code makes an error of is bounded before it travels to the client.
func TestDescribeIsBounded(t *testing.T) {
	long := strings.Repeat("é", maxErrorText)
	e := Describe(errors.New(long))
	more := fmt.Sprintf("… %d bytes more", maxErrorText)
	if want := long[:maxErrorText] + more; e.Value != want {
		t.Errorf("value has %d bytes and ends with %q", len(e.Value), e.Value[len(e.Value)-40:])
	}
	if got := e.Traceback[0]; len(got) > maxErrorText+100 || !strings.Contains(got, "\x1b[0m… ") {
		t.Errorf("traceback has %d bytes and ends with %q", len(got), got[len(got)-40:])
	}

	frame := gocell.Frame{Func: "f", Cell: "cell 1", Line: 7, Col: 1}
	var trace []gocell.Frame
	for i := range 3 * maxErrorLines {
		frame.Line = i + 1
		trace = append(trace, frame)
	}
	e = Describe(&gocell.PanicError{Value: "deep", Trace: trace})
	if len(e.Traceback) != maxErrorLines+1 {
		t.Fatalf("%d lines, want %d", len(e.Traceback), maxErrorLines+1)
	}
	if got, want := e.Traceback[maxErrorLines/2], fmt.Sprintf("%d lines are left out", 2*maxErrorLines+1); !strings.Contains(got, want) {
		t.Errorf("note is %q, want %q", got, want)
	}
	if got, want := e.Traceback[maxErrorLines], fmt.Sprintf("cell 1:%d:1", len(trace)); !strings.Contains(got, want) {
		t.Errorf("last line is %q, want %q", got, want)
	}
}
