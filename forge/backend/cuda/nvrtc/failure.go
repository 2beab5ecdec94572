package nvrtc

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Error is a result code of NVRTC.
type Error struct {
	Call string
	Code int32
	Name string // "NVRTC_ERROR_COMPILATION"
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s, code %d", e.Call, e.Name, e.Code) }

// results are the names of nvrtcResult by code.
var results = []string{
	"NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT", "NVRTC_ERROR_INVALID_PROGRAM",
	"NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
	"NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "NVRTC_ERROR_INTERNAL_ERROR", "NVRTC_ERROR_TIME_FILE_WRITE_FAILED",
}

// call calls a function of NVRTC.
//
//go:uintptrescapes
func (c *Compiler) call(name string, args ...uintptr) error {
	code := c.lib.Call(name, args...)
	if code == 0 {
		return nil
	}
	e := &Error{Call: name, Code: code, Name: "an unknown code"}
	if 0 < code && int(code) < len(results) {
		e.Name = results[code]
	}
	return e
}

// Failure is what NVRTC said of a source.
type Failure struct {
	Name, Arch, Version string // of the source, the architecture and NVRTC
	Err                 error
	Log                 string // with the lines of the source that it speaks of
}

func (f *Failure) Error() string {
	return fmt.Sprintf("NVRTC %s compiles %s for %s: %v\n%s", f.Version, f.Name, f.Arch, f.Err, f.Log)
}

func (f *Failure) Unwrap() error { return f.Err }

// maxLog bounds what is kept of a log, in bytes.
const maxLog = 8 << 10

func (c *Compiler) failure(s Source, err error, log []byte) *Failure {
	log, _, _ = bytes.Cut(log, []byte{0})
	log = warned.ReplaceAll(log, nil) // in front of errors, they would fill what is kept
	return &Failure{s.Name, s.Arch, c.Version, err, annotate(s, string(log[:min(len(log), maxLog)]))}
}

// spoken finds where a message is about a line of the source.
var spoken = regexp.MustCompile(`^(.*)\((\d+)\): (?:catastrophic |warning|error)`)

// warned finds a warning, which ends with an empty line, and the remark behind the first.
var warned = regexp.MustCompile(`(?m)^.*\(\d+\): warning (?:.*\n)+?\n|^Remark: .*\n\n?`)

// annotate puts the line of the source behind each message about one.
func annotate(s Source, log string) string {
	lines := strings.Split(s.Text, "\n")
	var b strings.Builder
	for message := range strings.Lines(strings.TrimSpace(log)) {
		b.WriteString(strings.TrimRight(message, "\n") + "\n")
		m := spoken.FindStringSubmatch(message)
		if m == nil || m[1] != s.Name {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil && 1 <= n && n <= len(lines) {
			fmt.Fprintf(&b, "%5d | %s\n", n, lines[n-1])
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
