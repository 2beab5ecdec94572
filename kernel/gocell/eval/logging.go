package eval

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"path"
	"reflect"
	"strconv"
	"sync"
	"unsafe"
)

// Package log asks the runtime who logs, when a logger is to say so. Cells are
// told where in the cell that is.

const fileFlags = log.Lshortfile | log.Llongfile

// writing is the lock that a logger holds while it writes.
func writing(l *log.Logger) *sync.Mutex {
	return (*sync.Mutex)(unsafe.Add(pointer(l), outMu.Offset))
}

var outMu, _ = reflect.TypeFor[log.Logger]().FieldByName("outMu")

func init() {
	if outMu.Type != reflect.TypeFor[sync.Mutex]() {
		panic("eval: loggers of this Go release have no such lock")
	}
}

// output is the Output of a logger; skip counts calls of user code.
func (th *thread) output(l *log.Logger, skip int, text string) error {
	flags := l.Flags()
	if flags&fileFlags == 0 || l.Writer() == io.Discard {
		return l.Output(0, text)
	}
	file, line := "???", 0
	if p := th.caller(skip); p != nil {
		file, line = p.at.file, p.at.line
	}
	if flags&log.Lshortfile != 0 {
		file = path.Base(file)
	}
	head, inner := l.Prefix(), ""
	if flags&log.Lmsgprefix != 0 {
		head, inner = "", head
	}
	var b bytes.Buffer
	log.New(&b, head, flags&^(fileFlags|log.Lmsgprefix)).Output(0, file+":"+strconv.Itoa(line)+": "+inner+text)
	w := l.Writer()
	writing(l).Lock()
	defer writing(l).Unlock()
	_, err := w.Write(b.Bytes())
	return err
}

// logs makes the functions and methods of package log that write a text.
func logNatives() map[string]native {
	list := map[string]native{
		"log.Output": func(th *thread, a []reflect.Value) []reflect.Value {
			return valuesOf(th.output(log.Default(), int(a[0].Int())-1, a[1].String()))
		},
		"log.(*Logger).Output": func(th *thread, a []reflect.Value) []reflect.Value {
			return valuesOf(th.output(a[0].Interface().(*log.Logger), int(a[1].Int())-1, a[2].String()))
		},
	}
	for suffix, format := range map[string]func([]reflect.Value) string{
		"":   func(a []reflect.Value) string { return fmt.Sprint(anys(a[0])...) },
		"ln": func(a []reflect.Value) string { return fmt.Sprintln(anys(a[0])...) },
		"f":  func(a []reflect.Value) string { return fmt.Sprintf(a[0].String(), anys(a[1])...) },
	} {
		for name, after := range map[string]func(name, text string){
			"Print": func(string, string) {},
			"Panic": func(_, text string) { panic(text) },
			"Fatal": func(name, _ string) { panic(Exit{"log." + name, 1}) },
		} {
			name += suffix
			list["log."+name] = func(th *thread, a []reflect.Value) []reflect.Value {
				text := format(a)
				th.output(log.Default(), 0, text)
				after(name, text)
				return nil
			}
			list["log.(*Logger)."+name] = func(th *thread, a []reflect.Value) []reflect.Value {
				text := format(a[1:])
				th.output(a[0].Interface().(*log.Logger), 0, text)
				after(name, text)
				return nil
			}
		}
	}
	return list
}
