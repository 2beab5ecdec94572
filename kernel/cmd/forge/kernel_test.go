package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Whatever a cell does to its process, the cell ends in an error that says
// what happened and what was lost, ForgeScript is restored, the next cell runs.
func TestFatalErrors(t *testing.T) {
	tests := []struct {
		name, code string
		says       []string // parts of the error
	}{
		{"stack overflow in compiled code", "loop := []any{nil}\nloop[0] = loop\nfmt.Sprint(loop)", []string{"stack"}},
		{"concurrent map writes", "runtime.GOMAXPROCS(8) // a single one never interrupts a write into a map\nm := map[int]int{}\nfor i := 0; i < 8; i++ { go func() { for { m[1]++ } }() }\nselect {}", []string{"concurrent map"}},
		{"out of memory", "var keep [][]byte\nfor { b := make([]byte, 64<<20); keep = append(keep, b) }", []string{"memory"}},
		{"killed from outside", "syscall.Kill(os.Getpid(), syscall.SIGKILL)\nselect {}", []string{"killed"}},
		{"crash in native code", "syscall.Kill(os.Getpid(), syscall.SIGSEGV)\nselect {}", []string{"SIGSEGV"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kernel := startKernel(t, "--memory-limit", "1GiB")
			run(t, kernel, "precious := 41").want(t, "")
			if got := run(t, kernel, "def double(x):\n    return x + x"); got.status != "ok" {
				t.Fatalf("defining double: %s", got.traceback)
			}
			got := run(t, kernel, tt.code)
			if got.status != "error" {
				t.Fatalf("status %s, want error", got.status)
			}
			text := got.evalue + "\n" + got.traceback
			for _, part := range append(tt.says, "precious") {
				if !strings.Contains(text, part) {
					t.Errorf("the error does not mention %q:\n%s", part, text)
				}
			}
			run(t, kernel, "1 + 1").want(t, "2")
			run(t, kernel, "double(forge.Ones(2)).At(1)").want(t, "2")
			if got := run(t, kernel, "precious"); got.status != "error" || !strings.Contains(got.traceback, "precious was lost when the session ended") {
				t.Errorf("precious: %s %q\n%s", got.status, got.result, got.traceback)
			}
		})
	}
}

// What the engine itself can stop ends its cell and nothing else.
func TestEndsOnlyItsCell(t *testing.T) {
	tests := []struct{ name, code, says string }{
		{"os.Exit", "os.Exit(3)", "3"},
		{"log.Fatal", `log.Fatal("giving up")`, "giving up"},
		{"runtime.Goexit", "runtime.Goexit()", "Goexit"},
		{"panic", `panic("no")`, "no"},
		{"nil map", "var m map[string]int\nm[\"a\"] = 1", "nil map"},
		{"endless recursion", "func f(n int) int { return f(n+1) + 1 }\nf(0)", "stack overflow"},
	}
	kernel := startKernel(t)
	run(t, kernel, "kept := 7").want(t, "")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, kernel, tt.code)
			if got.status != "error" || !strings.Contains(got.evalue+got.traceback+got.stderr, tt.says) {
				t.Errorf("status %s, %s: %s\n%s", got.status, got.ename, got.evalue, got.traceback)
			}
			if lines := strings.Count(got.traceback, "\n"); lines > 60 {
				t.Errorf("a traceback of %d lines", lines)
			}
			run(t, kernel, "kept").want(t, "7")
		})
	}
}

func TestInterruptKeepsState(t *testing.T) {
	tests := []struct{ name, code string }{
		{"loop", "for {}"},
		{"receive", "<-make(chan int)"},
		{"select", "select {}"},
		{"sleep", "time.Sleep(time.Hour)"},
		{"wait group", "var wg sync.WaitGroup\nwg.Add(1)\nwg.Wait()"},
		{"forge program", "for { square(big, big) }"},
		{"child process", "!sleep 1000"},
		{"script", "%%bash\nsleep 1000"},
		{"input", `gonbui.RequestInput("stuck? ", false); select {}`},
	}
	kernel := startKernel(t)
	run(t, kernel, "kept := 7").want(t, "")
	// Within the limit on the elements of all inputs, and seconds of work.
	for _, code := range []string{"def square(a, b):\n    return a @ b", "big := forge.Ones(2500, 2500)", "square(forge.Ones(2, 2), forge.Ones(2, 2))"} {
		if got := run(t, kernel, code); got.status != "ok" {
			t.Fatal(got.traceback)
		}
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code := `fmt.Println("running")` + "\n" + tt.code
			if strings.HasPrefix(tt.code, "!") {
				code = "!echo running\n" + tt.code
			} else if strings.HasPrefix(tt.code, "%%") {
				code = strings.Replace(tt.code, "\n", "\necho running\n", 1)
			}
			if strings.Contains(code, "gonbui") {
				code = "import \"github.com/janpfeifer/gonb/gonbui\"\n" + code
			}
			cell := begin(t, kernel, code)
			for m := range cell.Outputs() {
				if m.Header.MsgType == "stream" {
					break
				}
			}
			if err := kernel.Interrupt(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := finish(t, cell)
			if got.status != "error" || !strings.Contains(strings.ToLower(got.ename+got.evalue), "interrupt") {
				t.Errorf("status %s, %s: %s", got.status, got.ename, got.evalue)
			}
			run(t, kernel, "kept").want(t, "7")
		})
	}
}

// A session that is stopped hears of an interrupt too.
func TestInterruptOfStoppedSession(t *testing.T) {
	kernel := startKernel(t)
	run(t, kernel, "kept := 7").want(t, "")
	pid := kernelPID(t, kernel)
	cell := begin(t, kernel, "syscall.Kill(os.Getpid(), syscall.SIGSTOP)\nselect {}")
	for state(strconv.Itoa(pid)) != 'T' {
		if t.Context().Err() != nil {
			t.Fatal("the session never stopped")
		}
		time.Sleep(time.Millisecond)
	}
	if err := kernel.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := finish(t, cell); got.ename != "Interrupt" {
		t.Errorf("status %s, %s: %s", got.status, got.ename, got.evalue)
	}
	run(t, kernel, "kept").want(t, "7")
}

func TestManyPrints(t *testing.T) {
	kernel := startKernel(t)
	begun := time.Now()
	got := run(t, kernel, `for i := 0; i < 20000; i++ { fmt.Println("line", i) }`)
	var want strings.Builder
	for i := range 20000 {
		fmt.Fprintln(&want, "line", i)
	}
	if got.stdout != want.String() {
		t.Errorf("%d bytes arrived, want %d in order", len(got.stdout), want.Len())
	}
	// Messages of text that goes on leave every 50 ms, sooner after a pause.
	if most := 10 + int(time.Since(begun)/(25*time.Millisecond)); got.streams > most {
		t.Errorf("%d stream messages, at most %d", got.streams, most)
	}
}

// A runaway printer is cut off with a note, and the kernel stays usable.
func TestOutputLimit(t *testing.T) {
	kernel := startKernel(t, "--output-limit", "64KiB")
	got := run(t, kernel, `for i := 0; i < 100000; i++ { fmt.Println("line", i) }`)
	if got.status != "ok" || len(got.stdout) > 70<<10 {
		t.Errorf("status %s, %d bytes", got.status, len(got.stdout))
	}
	if all := got.stdout + got.stderr; !strings.Contains(all, "limit") {
		t.Errorf("no note about the limit at the end: %q", all[max(0, len(all)-200):])
	}
	run(t, kernel, "1 + 1").want(t, "2")
}

// Prints, raw writes and displays keep the order in which the cell made them.
func TestOutputOrder(t *testing.T) {
	kernel := startKernel(t)
	got := run(t, kernel, `for i := 0; i < 50; i++ {
	fmt.Println("print", i)
	os.Stdout.WriteString(fmt.Sprintln("write", i))
	display.Show(i)
}`)
	var seen []string
	for _, m := range got.outputs {
		var content struct {
			Text string
			Data map[string]any
		}
		if err := m.Decode(&content); err != nil {
			t.Fatal(err)
		}
		switch m.Header.MsgType {
		case "display_data":
			seen = append(seen, "show "+content.Data["text/plain"].(string))
		case "stream":
			seen = append(seen, strings.Split(strings.TrimSuffix(content.Text, "\n"), "\n")...)
		}
	}
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprint("print ", i), fmt.Sprint("write ", i), fmt.Sprint("show ", i))
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("order of outputs:\n%s", strings.Join(seen, "\n"))
	}
}

func TestInput(t *testing.T) {
	kernel := startKernel(t)
	run(t, kernel, "import \"github.com/janpfeifer/gonb/gonbui\"\ngonbui.RequestInput(\"name: \", false)")
	got := run(t, kernel, "var word string\nfmt.Scan(&word)\nword")
	if got.status != "ok" || !strings.Contains(got.result, "Ada's") {
		t.Errorf("%s %q %s", got.status, got.result, got.traceback)
	}
}

// A goroutine's panic is an error of its cell with the user's line numbers, not
// the end of the session.
func TestGoroutinePanic(t *testing.T) {
	kernel := startKernel(t)
	run(t, kernel, "kept := 7").want(t, "")
	got := run(t, kernel, "done := make(chan bool)\ngo func() {\n\tdefer close(done)\n\tpanic(\"in the back\")\n}()\n<-done\nselect {}")
	if got.ename != "panic" || !strings.Contains(got.evalue, "in the back") || !strings.Contains(got.traceback, "4") {
		t.Errorf("status %s, stderr %q, traceback %q", got.status, got.stderr, got.traceback)
	}
	run(t, kernel, "kept").want(t, "7")
}
