package eval

import (
	"context"
	"log/slog"
	"reflect"
	"time"
)

// Package log/slog asks the runtime who logs. A cell's records have the place of
// the call in the cell, which only code of cells can look up; the handlers of the
// package, which may be told to show it, are handed it.

// sourced is what both handlers of the package begin with.
type sourced struct{ *slogHandler }

// slogHandler is how what they share begins.
type slogHandler struct {
	json bool
	opts slog.HandlerOptions
}

// slogShared is the type of what they share.
var slogShared = reflect.TypeFor[slog.TextHandler]().Field(0).Type.Elem()

func init() {
	for _, t := range []reflect.Type{reflect.TypeFor[slog.TextHandler](), reflect.TypeFor[slog.JSONHandler]()} {
		if t.NumField() != 1 || t.Field(0).Type != reflect.PointerTo(slogShared) {
			panic("eval: this Go release keeps handlers of log/slog in another way")
		}
	}
	own := reflect.TypeFor[slogHandler]()
	for i := range own.NumField() {
		if f, want := own.Field(i), slogShared.Field(i); f.Name != want.Name || f.Type != want.Type || f.Offset != want.Offset {
			panic("eval: this Go release keeps the options of log/slog in another way")
		}
	}
}

// placed is a handler of the package that shows a place, where h is one that is
// to show places.
func placed(h slog.Handler, at *slog.Source) slog.Handler {
	var options *slogHandler
	switch h := h.(type) {
	case *slog.TextHandler:
		options = (*sourced)(pointer(h)).slogHandler
	case *slog.JSONHandler:
		options = (*sourced)(pointer(h)).slogHandler
	}
	if options == nil || !options.opts.AddSource {
		return h
	}
	duplicate := reflect.New(slogShared)
	duplicate.Elem().Set(reflect.NewAt(slogShared, pointer(options)).Elem())
	own := (*slogHandler)(duplicate.UnsafePointer())
	replace := own.opts.ReplaceAttr
	own.opts.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.SourceKey {
			if s, ok := a.Value.Any().(*slog.Source); ok && *s == (slog.Source{}) { // the handler's own
				a.Value = slog.AnyValue(at)
			}
		}
		if replace != nil {
			return replace(groups, a)
		}
		return a
	}
	holder := &sourced{own}
	if own.json {
		return (*slog.JSONHandler)(pointer(holder))
	}
	return (*slog.TextHandler)(pointer(holder))
}

// slog makes a record of a call in a cell and has it handled.
func (th *thread) slog(l *slog.Logger, ctx context.Context, level slog.Level, msg string, add func(*slog.Record)) {
	if ctx == nil {
		ctx = context.Background()
	}
	if !l.Enabled(ctx, level) {
		return
	}
	h, pc := l.Handler(), uintptr(0)
	if p := th.caller(0); p != nil {
		pc = p.pc
		h = placed(h, &slog.Source{Function: p.at.name, File: p.at.file, Line: p.at.line})
	}
	r := slog.NewRecord(time.Now(), level, msg, pc)
	add(&r)
	h.Handle(ctx, r)
}

// slogNatives makes the functions that log, and the methods of loggers.
func slogNatives() map[string]native {
	list := map[string]native{}
	// both enters a function for the default logger and the method of that name.
	both := func(name string, log func(th *thread, l *slog.Logger, a []reflect.Value)) {
		list["log/slog."+name] = func(th *thread, a []reflect.Value) []reflect.Value {
			log(th, slog.Default(), a)
			return nil
		}
		list["log/slog.(*Logger)."+name] = func(th *thread, a []reflect.Value) []reflect.Value {
			log(th, a[0].Interface().(*slog.Logger), a[1:])
			return nil
		}
	}
	pairs := func(v reflect.Value) func(*slog.Record) {
		return func(r *slog.Record) { r.Add(anys(v)...) }
	}
	contextOf := func(v reflect.Value) context.Context {
		ctx, _ := interfaceOf(dynamic(v)).(context.Context)
		return ctx
	}
	for name, level := range map[string]slog.Level{"Debug": slog.LevelDebug, "Info": slog.LevelInfo, "Warn": slog.LevelWarn, "Error": slog.LevelError} {
		both(name, func(th *thread, l *slog.Logger, a []reflect.Value) {
			th.slog(l, nil, level, a[0].String(), pairs(a[1]))
		})
		both(name+"Context", func(th *thread, l *slog.Logger, a []reflect.Value) {
			th.slog(l, contextOf(a[0]), level, a[1].String(), pairs(a[2]))
		})
	}
	both("Log", func(th *thread, l *slog.Logger, a []reflect.Value) {
		th.slog(l, contextOf(a[0]), slog.Level(a[1].Int()), a[2].String(), pairs(a[3]))
	})
	both("LogAttrs", func(th *thread, l *slog.Logger, a []reflect.Value) {
		th.slog(l, contextOf(a[0]), slog.Level(a[1].Int()), a[2].String(), func(r *slog.Record) { r.AddAttrs(a[3].Interface().([]slog.Attr)...) })
	})
	list["log/slog.(Record).Source"] = func(_ *thread, a []reflect.Value) []reflect.Value {
		r := a[0].Interface().(slog.Record)
		if p := pointOf(r.PC); p != nil {
			return valuesOf(&slog.Source{Function: p.at.name, File: p.at.file, Line: p.at.line})
		}
		return valuesOf(r.Source())
	}
	return list
}
