package front

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"forgekernel/kernel/link"

	"golang.org/x/sys/unix"
)

// outOfMemory is the name of a crash for want of memory.
const outOfMemory = "OutOfMemory"

// maxTrace bounds the lines of a fatal trace that a cell's error repeats.
const maxTrace = 24

// crash is how a session ended.
type crash struct {
	exited bool           // by its own exit, with status
	status int            // exit status
	signal syscall.Signal // that ended it, when it did not exit
	report string         // head of the Go runtime's fatal trace, if it wrote one
	reason string         // why the front ended it or could not start it, if it did
	said   string         // the end of stderr, if nobody has seen it
	peak   int64          // most resident bytes
	limit  int64          // of its memory in bytes; 0 is none
}

// exitCode is the exit status, or as shells give it, 128 and the signal.
func (c crash) exitCode() int {
	if c.exited {
		return c.status
	}
	return 128 + int(c.signal)
}

// atLimit reports whether memory explains a crash that does not say so itself:
// an allocation that fails inside the runtime or in native code often ends in a
// signal.
func (c crash) atLimit() bool { return c.limit > 0 && c.peak >= c.limit/4*3 }

// fatals translates the Go runtime's fatal errors, which no program can
// recover from. The first entry whose text occurs in the head of the trace
// explains it.
var fatals = []struct{ text, name, explanation string }{
	{"fatal error: concurrent map writes", "ConcurrentMapWrites", "two goroutines wrote to one map at the same time; guard it with a sync.Mutex"},
	{"fatal error: concurrent map read and map write", "ConcurrentMapAccess", "one goroutine read a map while another wrote to it; guard it with a sync.RWMutex"},
	{"fatal error: concurrent map iteration and map write", "ConcurrentMapAccess", "one goroutine ranged over a map while another wrote to it; guard it with a sync.RWMutex"},
	{"fatal error: stack overflow", "StackOverflow", "recursion without an end used up the stack"},
	{"goroutine stack exceeds", "StackOverflow", "recursion without an end used up the stack"},
	{"out of memory", outOfMemory, "the session ran out of memory"},
	{"cannot allocate", outOfMemory, "the session ran out of memory"},
	{"failed to create new OS thread", "OutOfThreads", "the session could not create one more operating-system thread"},
	{"all goroutines are asleep - deadlock", "Deadlock", "every goroutine of the session waits for another one"},
	{"signal arrived during cgo execution", "NativeCrash", "native code crashed"},
	{"unexpected fault address", "NativeCrash", "memory was accessed that does not belong to the program"},
	{"fatal error: unexpected signal", "NativeCrash", "native code crashed"},
	{"SIGSEGV", "NativeCrash", "memory was accessed that does not belong to the program"},
	{"SIGBUS", "NativeCrash", "memory was accessed beyond its file or device"},
	{"SIGILL", "NativeCrash", "native code executed an instruction that this processor lacks"},
	{"SIGABRT", "NativeCrash", "native code aborted"},
	{"sync: ", "LockMisuse", "a lock was used wrongly"},
	{"fatal error:", "FatalError", "the Go runtime found an error that no program can recover from"},
	{"panic: ", "Panic", "a goroutine that the session does not watch panicked"},
}

// crashOf reads an exit status.
func crashOf(state *os.ProcessState, report string, limit int64) crash {
	status := state.Sys().(syscall.WaitStatus)
	c := crash{report: report, limit: limit}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		c.peak = usage.Maxrss << 10
	}
	if status.Exited() {
		c.exited, c.status = true, status.ExitStatus()
	} else {
		c.signal = status.Signal()
	}
	return c
}

// explain names the failure and says what happened in one sentence.
func (c crash) explain() (name, what string) {
	if c.reason != "" {
		return "SessionFailed", c.reason
	}
	if c.report != "" {
		head := c.report[:min(len(c.report), 4096)]
		for _, f := range fatals {
			if !strings.Contains(head, f.text) {
				continue
			}
			if f.name == "NativeCrash" && c.atLimit() {
				return outOfMemory, "the session ran out of memory at its limit of " + bytesText(c.limit) + " (" + c.firstLine() + ")"
			}
			if f.name == outOfMemory && c.limit > 0 {
				return f.name, f.explanation + " at its limit of " + bytesText(c.limit) + " (" + c.firstLine() + ")"
			}
			return f.name, f.explanation + " (" + c.firstLine() + ")"
		}
	}
	switch {
	case !c.exited && c.atLimit():
		return outOfMemory, "the session ran out of memory at its limit of " + bytesText(c.limit) + " (" + unix.SignalName(c.signal) + ")"
	case c.exited:
		if c.said != "" {
			return "SessionExit", fmt.Sprintf("the session's process exited with status %d: %s", c.status, c.said)
		}
		return "SessionExit", fmt.Sprintf("the session's process exited with status %d (os.Exit or the like)", c.status)
	case c.signal == syscall.SIGKILL:
		return "Killed", "the operating system or another process killed the session (SIGKILL); as a rule memory had run out"
	case slices.Contains([]syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT}, c.signal):
		return "NativeCrash", "native code crashed (" + unix.SignalName(c.signal) + ")"
	}
	return "Killed", "a signal ended the session (" + unix.SignalName(c.signal) + ")"
}

// firstLine is the most telling line of the report.
func (c crash) firstLine() string {
	first := ""
	for line := range strings.Lines(c.report) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "fatal error:") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// What of the report tells a person nothing: machine words, and the runtime's own
// stacks.
var (
	registers    = regexp.MustCompile(` (fp|sp|pc|gp|mp)=\S+| m=\S+`)
	machineLine  = regexp.MustCompile(`^(PC=|runtime: sp=|goroutine running on other thread)`)
	machineStack = regexp.MustCompile(`^(runtime stack:|goroutine 0 |r\S+ +0x)`)
	// evaluator is the innermost call of what runs a cell, and those it came by, with their places.
	evaluator = regexp.MustCompile(`(?m)^(forgekernel/kernel/gocell/eval\.\S.*\n\t.*\n)((?:(?:created by )?forgekernel/kernel/gocell/eval\.\S.*\n\t.*(?:\n|\z)){2,})`)
)

// brief leaves out the calls with which the evaluator came to the innermost one.
func brief(report string) string {
	return evaluator.ReplaceAllStringFunc(report, func(calls string) string {
		m := evaluator.FindStringSubmatch(calls)
		return fmt.Sprintf("%s… and %d more calls of the evaluator\n", m[1], strings.Count(m[2], "\n\t"))
	})
}

// trace is the head of the report: the message and the first goroutine, which is
// the one that failed.
func (c crash) trace() []string {
	var lines []string
	for paragraph := range strings.SplitSeq(strings.Trim(brief(c.report), "\n"), "\n\n") {
		if paragraph == "" || machineStack.MatchString(paragraph) {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		for line := range strings.SplitSeq(strings.Trim(paragraph, "\n"), "\n") {
			if machineLine.MatchString(line) {
				continue
			}
			if len(lines) == maxTrace {
				return append(lines, "…")
			}
			lines = append(lines, registers.ReplaceAllString(line, ""))
		}
		if strings.HasPrefix(paragraph, "goroutine ") {
			break
		}
	}
	return lines
}

// failure is the error that ends a cell which ran when its session died: what
// happened, what was lost and what is back.
func (c crash) failure(l loss) *link.Error {
	name, what := c.explain()
	lines := []string{headline(name, what)}
	// Which allocation was one too many says little, and what the runtime writes
	// about memory is long.
	if trace := c.trace(); len(trace) > 0 && name != outOfMemory {
		lines = append(append(lines, ""), trace...)
	}
	lines = append(append(lines, ""), l.sentences()...)
	return &link.Error{Name: name, Value: what, Traceback: lines}
}

// headline is the first line of a traceback, bold and red where colours show.
func headline(name, what string) string { return "\x1b[1;31m" + name + "\x1b[0m: " + what }

// sentences say what was lost and what is back.
func (l loss) sentences() []string {
	var lost, back []string
	kept := map[string]bool{}
	for _, d := range l.restored {
		kept[d.Name] = true
		back = append(back, d.Name)
	}
	for _, s := range l.held {
		if !kept[s.Name] {
			lost = append(lost, strings.TrimSpace(s.Name+" "+symbolType(s)))
		}
	}
	lines := []string{"A new session takes over."}
	if len(lost) > 0 {
		lines = append(lines, "Lost: "+listed(lost)+".")
	} else {
		lines = append(lines, "No variables or functions were lost.")
	}
	if len(back) > 0 {
		lines = append(lines, "Restored: the ForgeScript functions "+listed(back)+".")
	}
	return lines
}

func symbolType(s link.Symbol) string {
	if s.Kind == "var" || s.Kind == "const" {
		return s.Type
	}
	return "(" + s.Kind + ")"
}

// listed joins names and counts those beyond the first twenty.
func listed(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// fatalLine begins the lines with which the runtime announces the end.
var fatalLine = regexp.MustCompile(`^(fatal error: |runtime: |runtime/cgo: |panic: |SIG[A-Z]+: |unexpected fault address|\[signal |\[recovered)`)

// lastWords are those of them that go to stderr only, some time before the
// trace.
var lastWords = regexp.MustCompile(`(?m)^(fatal error: |runtime: |runtime/cgo: |SIG[A-Z]+: |unexpected fault address)`)

// suspect begins a line after which a trace may follow: such words, and those of a
// panic, which begin the crash output as well, but a moment later.
var suspect = regexp.MustCompile(lastWords.String() + `|(?m)^panic: `)

// splitFatal separates what the session printed to stderr around its end from
// the runtime's report. The crash output has the goroutines but, when the
// runtime itself failed, not the lines that say why: those are on stderr alone,
// just before.
func splitFatal(text, traced string) (printed, report string) {
	first := strings.TrimLeft(traced, "\n")
	first, _, _ = strings.Cut(first, "\n")
	if first == "" { // a session that died before its trace, or without
		if at := lastWords.FindStringIndex(text); at != nil {
			return text[:at[0]], text[at[0]:]
		}
		return text, ""
	}
	before, _, found := strings.Cut(text, first)
	if !found {
		return text, traced
	}
	lines := strings.SplitAfter(before, "\n")
	n := len(lines)
	for n > 0 && (strings.TrimSpace(lines[n-1]) == "" || fatalLine.MatchString(lines[n-1])) {
		n--
	}
	return strings.Join(lines[:n], ""), strings.Join(lines[n:], "") + strings.TrimLeft(traced, "\n")
}
