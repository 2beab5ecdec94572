package gocell

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"forgekernel/kernel/gocell/rtype"
)

// TestMethodsBeyondTheRoom takes all the room that a process has for methods,
// so it is a process of its own. The type that finds none is refused by one
// error, whatever is there goes on, and so do types that need none.
func TestMethodsBeyondTheRoom(t *testing.T) {
	const alone = "FORGE_TEST_ROOM"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestMethodsBeyondTheRoom$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, "type Early struct{ n int }\nfunc (e Early) String() string { return fmt.Sprint(\"early \", e.n) }\nvar early fmt.Stringer = Early{1}")
	many := func(n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "type Many struct{ f%d int }\n", n)
		for i := range 100 {
			fmt.Fprintf(&b, "func (m *Many) M%d() int { return %d }\n", i, i)
		}
		return b.String() + "interface{ M7() int }(&Many{}).M7()"
	}
	rounds := 0
	for rtype.Room() >= 100 {
		if got := mustRun(t, s, many(rounds)); got != "7" {
			t.Fatalf("round %d shows %s", rounds, got)
		}
		rounds++
	}
	if rounds < 70 {
		t.Errorf("only %d types of 100 methods have room", rounds)
	}
	for range 2 {
		_, err := s.Run(t.Context(), Cell{Name: "full", ID: 900, Source: many(rounds)})
		if err == nil || !strings.Contains(err.Error(), "no method slots are left (32768); restart the session") {
			t.Fatalf("without room: %v", err)
		}
	}
	for _, step := range [][2]string{
		{"early.String()", "early 1"},
		{"(&Many{}).M9()", "9"},
		{"type Plain struct{ n int }\nfunc (p Plain) hidden() int { return p.n }\ninterface{ hidden() int }(Plain{5}).hidden()", "5"},
		{"func (e Early) String() string { return \"late\" }\nfmt.Sprint(early)", "late"},
	} {
		if got := mustRun(t, s, step[0]); got != step[1] {
			t.Errorf("without room %q shows %s, want %s", step[0], got, step[1])
		}
	}
}
