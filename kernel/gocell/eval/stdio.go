package eval

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// stdin is what user code reads as standard input: lines that the person is
// asked for, one by one. Text that a reader left over waits for the next one.
type stdin struct {
	mu   sync.Mutex
	rest string
}

// stdinReader is standard input for one goroutine.
type stdinReader struct{ th *thread }

func (s stdinReader) Read(p []byte) (int, error) {
	r := s.th.run.orLatest()
	e := r.engine
	e.stdin.mu.Lock()
	defer e.stdin.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if e.stdin.rest == "" {
		r.asks.CompareAndSwap(0, goroutine())
		line, err := e.opts.Stdin(r.ctx, "", false)
		if err != nil {
			r.heed()
		}
		if !r.stop.Load() {
			r.asks.Store(0)
		}
		if err != nil {
			return 0, err
		}
		e.stdin.rest = line + "\n"
	}
	n := copy(p, e.stdin.rest)
	e.stdin.rest = e.stdin.rest[n:]
	return n, nil
}

// heed raises the stop of a cell whose interrupt ended a question before the run has
// heard of it.
func (r *run) heed() {
	if r.caller != nil && !r.over.Load() && r.caller.Err() != nil {
		r.interrupt()
	}
}

// ReadRune and UnreadRune keep fmt.Scan from reading one byte too many.
func (s stdinReader) ReadRune() (rune, int, error) {
	var b [1]byte
	if _, err := s.Read(b[:]); err != nil {
		return 0, 0, err
	}
	e := s.th.run.engine
	e.stdin.mu.Lock()
	defer e.stdin.mu.Unlock()
	e.stdin.rest = string(b[:]) + e.stdin.rest
	r, size, err := strings.NewReader(e.stdin.rest).ReadRune()
	e.stdin.rest = e.stdin.rest[size:]
	return r, size, err
}

// scanner adds the UnreadRune that fmt looks for.
type scanner struct {
	stdinReader
	last *rune
}

func (s *scanner) ReadRune() (rune, int, error) {
	r, size, err := s.stdinReader.ReadRune()
	s.last = &r
	return r, size, err
}

func (s *scanner) UnreadRune() error {
	if s.last == nil {
		return fmt.Errorf("nothing to unread")
	}
	e := s.th.run.engine
	e.stdin.mu.Lock()
	defer e.stdin.mu.Unlock()
	e.stdin.rest = string(*s.last) + e.stdin.rest
	s.last = nil
	return nil
}

func (th *thread) stdin() io.Reader { return &scanner{stdinReader: stdinReader{th}} }

func (th *thread) writer(stream string) io.Writer {
	return th.run.engine.opts.Writer(th.run.cell, stream)
}

// keptWriter is a standard stream that compiled code may keep: a logger, say. What
// it prints belongs to the cell that handed the stream over while anything of that
// runs, and to the latest cell after that, as calls of its functions do.
type keptWriter struct {
	run    *run
	stream string
}

func (w keptWriter) Write(p []byte) (int, error) {
	r := w.run.orLatest()
	return r.engine.opts.Writer(r.cell, w.stream).Write(p)
}

var fileType = reflect.TypeFor[*os.File]()

// standard puts the cell's own streams in the place of the process's, where
// compiled code takes them as interfaces.
func (th *thread) standard(t reflect.Type, v reflect.Value) reflect.Value {
	if v.Type() != fileType || t.Kind() != reflect.Interface {
		return v
	}
	var with any
	switch v.Interface().(*os.File) {
	case standardFiles[0]:
		with = th.stdin()
	case standardFiles[1]:
		with = keptWriter{th.run, "stdout"}
	case standardFiles[2]:
		with = keptWriter{th.run, "stderr"}
	default:
		return v
	}
	if w := reflect.ValueOf(with); w.Type().Implements(t) {
		return w
	}
	return v
}

// standardFiles are the standard streams by their descriptors, whatever user code
// has put into the variables.
var standardFiles = [...]*os.File{os.Stdin, os.Stdout, os.Stderr}

var fileTypeWord = typeWord(fileType)

func scan(read func(r io.Reader, a []reflect.Value) (int, error)) native {
	return func(th *thread, a []reflect.Value) []reflect.Value {
		if os.Stdin != standardFiles[0] { // user code has put another file there
			return count(read(os.Stdin, a))
		}
		return th.answered(read(th.stdin(), a))
	}
}

// fileWrite is a method of *os.File that writes; the two standard streams are
// those of the cell.
func fileWrite(method string) native {
	return func(th *thread, a []reflect.Value) []reflect.Value {
		stream := ""
		switch a[0].Interface().(*os.File) {
		case standardFiles[1]:
			stream = "stdout"
		case standardFiles[2]:
			stream = "stderr"
		default:
			return a[0].MethodByName(method).Call(a[1:])
		}
		if a[1].Kind() == reflect.String {
			return count(io.WriteString(th.writer(stream), a[1].String()))
		}
		return count(th.writer(stream).Write(a[1].Bytes()))
	}
}

// stdioNatives read and write the standard streams of the cell.
var stdioNatives = map[string]native{
	"fmt.Print":   printing(func(w io.Writer, a []reflect.Value) (int, error) { return fmt.Fprint(w, anys(a[0])...) }),
	"fmt.Println": printing(func(w io.Writer, a []reflect.Value) (int, error) { return fmt.Fprintln(w, anys(a[0])...) }),
	"fmt.Printf": printing(func(w io.Writer, a []reflect.Value) (int, error) {
		return fmt.Fprintf(w, a[0].String(), anys(a[1])...)
	}),
	"fmt.Scan":   scan(func(r io.Reader, a []reflect.Value) (int, error) { return fmt.Fscan(r, anys(a[0])...) }),
	"fmt.Scanln": scan(func(r io.Reader, a []reflect.Value) (int, error) { return fmt.Fscanln(r, anys(a[0])...) }),
	"fmt.Scanf": scan(func(r io.Reader, a []reflect.Value) (int, error) {
		return fmt.Fscanf(r, a[0].String(), anys(a[1])...)
	}),
	"os.(*File).Write":       fileWrite("Write"),
	"os.(*File).WriteString": fileWrite("WriteString"),
	"os.(*File).Close": func(_ *thread, a []reflect.Value) []reflect.Value {
		var err error
		if f := a[0].Interface().(*os.File); !slices.Contains(standardFiles[:], f) { // those are the session's
			err = f.Close()
		}
		return []reflect.Value{reflect.ValueOf(&err).Elem()}
	},
	"os.NewFile": func(_ *thread, a []reflect.Value) []reflect.Value {
		if fd := a[0].Uint(); fd < uint64(len(standardFiles)) { // one more file would close the session's with its end
			return valuesOf(standardFiles[fd])
		}
		return valuesOf(os.NewFile(uintptr(a[0].Uint()), a[1].String()))
	},
	"syscall.Close": func(_ *thread, a []reflect.Value) []reflect.Value {
		var err error
		if fd := int(a[0].Int()); fd < 0 || fd >= len(standardFiles) {
			err = syscall.Close(fd)
		}
		return []reflect.Value{reflect.ValueOf(&err).Elem()}
	},
	"os.(*File).Read": func(th *thread, a []reflect.Value) []reflect.Value {
		if f := a[0].Interface().(*os.File); f != standardFiles[0] {
			return count(f.Read(a[1].Bytes()))
		}
		return th.answered(th.stdin().Read(a[1].Bytes()))
	},
}

func printing(print func(w io.Writer, a []reflect.Value) (int, error)) native {
	return func(th *thread, a []reflect.Value) []reflect.Value {
		if os.Stdout != standardFiles[1] { // user code has put another file there
			return count(print(os.Stdout, a))
		}
		return count(print((*cellOutput)(th), a))
	}
}

// cellOutput is where a goroutine prints. What package fmt writes about an end of
// the cell that it has recovered from is not seen.
type cellOutput thread

func (o *cellOutput) Write(p []byte) (int, error) {
	th := (*thread)(o)
	th.pass()
	return th.writer("stdout").Write(p)
}

// answered is count for what has asked the person: an interrupt ends the question,
// and with it the goroutine.
func (th *thread) answered(n int, err error) []reflect.Value {
	th.poll()
	return count(n, err)
}

func count(n int, err error) []reflect.Value {
	return []reflect.Value{reflect.ValueOf(n), reflect.ValueOf(&err).Elem()}
}

func anys(v reflect.Value) []any { return v.Interface().([]any) }
