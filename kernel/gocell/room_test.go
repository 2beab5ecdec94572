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
		if err == nil || !strings.Contains(err.Error(), "no method slots are left (8192); restart the session") {
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

// TestRoomOfGenerations adds methods to types one by one: each takes the room of
// one method, though the type, and all that have to do with it, are made anew.
// Values made before have the methods, as reflection sees them, too.
func TestRoomOfGenerations(t *testing.T) {
	s, _ := newTestSession(t, Options{})
	mustRun(t, s, `type A struct{ n int }
func (a A) String() string { return fmt.Sprint("A", a.n) }
type B struct { a A; list []A }
func (b *B) First() A { return b.list[0] }
func (b *B) String() string { return fmt.Sprint("B of ", b.First()) }
type M map[string]A
func (m M) String() string { return fmt.Sprint("M of ", m["k"]) }
type E struct { A; B *B }
old := []any{A{1}, &A{2}, &B{list: []A{{3}}}, M{"k": {4}}, E{A: A{5}}}`)
	took := func(cell, want string) int {
		t.Helper()
		before := rtype.Room()
		if got := mustRun(t, s, cell); got != want {
			t.Errorf("%s shows %s, want %s", cell, got, want)
		}
		return before - rtype.Room()
	}
	const all = "fmt.Sprint(old...)"
	for i := range 20 {
		cell := fmt.Sprintf("func (a A) M%d(n int) int { return a.n + n + %d }\nold[0].(interface{ M%d(int) int }).M%d(1)", i, i, i, i)
		if n := took(cell, fmt.Sprint(i+2)); n != 3 { // of A, and promoted to E and to the struct that E is
			t.Errorf("method %d takes room for %d", i, n)
		}
		took(all, "A1 A2 B of A3 M of A4 A5")
	}
	if n := took("func (a A) String() string { return fmt.Sprint(\"new\", a.n) }\n"+all, "new1 new2 B of new3 M of new4 new5"); n != 0 {
		t.Errorf("a method with new code takes room for %d", n)
	}
	if n := took("func (a A) M3() string { return \"three\" }\nold[4].(interface{ M3() string }).M3()", "three"); n != 3 {
		t.Errorf("a method with another signature takes room for %d", n)
	}
	for i := range 3 {
		before := rtype.Room()
		_, err := s.Run(t.Context(), Cell{Name: "refused", ID: 9, Source: "func (a A) Late() int { return 1 }\nfunc (a A) String() string { return \"refused\" }\nvar big [1 << 40]int"})
		if err == nil || !strings.Contains(err.Error(), "too large") {
			t.Fatalf("a cell with a variable that is too large: %v", err)
		}
		if n := before - rtype.Room(); i > 0 && n != 0 {
			t.Errorf("a cell that is refused again takes room for %d", n)
		}
	}
	took(all+` + fmt.Sprint(reflect.ValueOf(old[0]).MethodByName("String").Call(nil)[0], reflect.ValueOf(old[1]).NumMethod() > 10)`, "new1 new2 B of new3 M of new4 new5new1 true")
	took("func (a A) Last() string { return \"last\" }\n"+all+" + E{}.Last()", "new1 new2 B of new3 M of new4 new5last")
}
