package eval

import (
	"fmt"
	"reflect"

	"forgekernel/display"
)

// displayNatives have displays and questions of a goroutine go to its own cell.
var displayNatives = map[string]native{
	"forgekernel/display.Show": showing(func(s display.Sink, a []reflect.Value) error {
		for _, v := range anys(a[0]) {
			if err := s.Show(display.Output{Bundle: display.ToBundle(v)}); err != nil {
				return err
			}
		}
		return nil
	}),
	"forgekernel/display.ShowID": showing(func(s display.Sink, a []reflect.Value) error {
		return s.Show(display.Output{Bundle: display.ToBundle(interfaceOf(a[1])), ID: a[0].String()})
	}),
	"forgekernel/display.Update": showing(func(s display.Sink, a []reflect.Value) error {
		return s.Show(display.Output{Bundle: display.ToBundle(interfaceOf(a[1])), ID: a[0].String(), Update: true})
	}),
	"forgekernel/display.Clear": showing(func(s display.Sink, a []reflect.Value) error {
		return s.Clear(a[0].Bool())
	}),
	"forgekernel/kernel/gocell/gonbui.RequestInput": requestInput,
}

func showing(show func(s display.Sink, a []reflect.Value) error) native {
	return func(th *thread, a []reflect.Value) []reflect.Value {
		sink := display.SinkFrom(th.run.ctx)
		if of := th.run.engine.opts.Sink; of != nil {
			sink = of(th.run.cell)
		}
		if err := show(sink, a); err != nil {
			fmt.Fprintln(th.writer("stderr"), "display:", err)
		}
		return nil
	}
}

// requestInput asks for a line that standard input then holds.
func requestInput(th *thread, a []reflect.Value) []reflect.Value {
	e := th.run.engine
	line, err := e.opts.Stdin(th.run.ctx, a[0].String(), a[1].Bool())
	if err != nil {
		th.poll() // an interrupt ends the cell by its own words
		panic(fmt.Errorf("gonbui.RequestInput: %w", err))
	}
	e.stdin.mu.Lock()
	defer e.stdin.mu.Unlock()
	e.stdin.rest += line + "\n"
	return nil
}
