package eval

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// natives take the place of compiled functions that cannot be called as they are.
// Most must know which goroutine calls them: those that print for a cell, end it, or
// block without an end. Others would end the process, or have no body in Go.
var natives = map[string]native{}

// The parts of natives are joined once all of them are there: what they do may call
// another one.
func init() {
	for _, part := range []map[string]native{
		processNatives, callerNatives, stdioNatives, displayNatives, errorNatives, logNatives(), slogNatives(),
	} {
		maps.Copy(natives, part)
	}
}

// processNatives end a cell, wait, or would end the process.
var processNatives = map[string]native{
	"maps.clone":            func(_ *thread, a []reflect.Value) []reflect.Value { return []reflect.Value{cloneMap(a[0])} },
	"os.Exit":               func(_ *thread, a []reflect.Value) []reflect.Value { panic(Exit{"os.Exit", int(a[0].Int())}) },
	"runtime.Breakpoint":    func(*thread, []reflect.Value) []reflect.Value { panic(goError("breakpoint")) },
	"runtime.Goexit":        func(*thread, []reflect.Value) []reflect.Value { panic(Exit{Call: "runtime.Goexit"}) },
	"flag.Parse":            parseFlags,
	"flag.(*FlagSet).Parse": parseMethod,
	"testing.Main":          noTestMain,
	"testing.MainStart":     noTestMain,
	"runtime/debug.SetMaxStack": func(th *thread, a []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(int(th.run.engine.maxStack.Swap(a[0].Int())))}
	},
	"runtime.Stack": func(th *thread, a []reflect.Value) []reflect.Value {
		text := th.stackText()
		if a[1].Bool() {
			text += th.otherStacks()
		}
		return valuesOf(copy(a[0].Bytes(), text))
	},
	"runtime/debug.Stack": func(th *thread, _ []reflect.Value) []reflect.Value { return valuesOf([]byte(th.stackText())) },
	"runtime/debug.PrintStack": func(th *thread, _ []reflect.Value) []reflect.Value {
		io.WriteString(th.writer("stderr"), th.stackText())
		return nil
	},
	"time.Sleep":           sleep,
	"sync.(*WaitGroup).Go": waitGroupGo,
	"sync.(*WaitGroup).Wait": func(th *thread, a []reflect.Value) []reflect.Value {
		wg := a[0].Interface().(*sync.WaitGroup)
		th.until(wg.Wait, func() {})
		return nil
	},
	"sync.(*Mutex).Lock": func(th *thread, a []reflect.Value) []reflect.Value {
		mu := a[0].Interface().(*sync.Mutex)
		th.lock(mu.TryLock, mu.Lock, mu.Unlock)
		return nil
	},
	"sync.(*Mutex).Unlock": func(_ *thread, a []reflect.Value) []reflect.Value {
		mu := a[0].Interface().(*sync.Mutex)
		if mu.TryLock() {
			mu.Unlock()
			panic(plainError("sync: unlock of unlocked mutex"))
		}
		mu.Unlock()
		return nil
	},
	"sync.(*RWMutex).Unlock": func(_ *thread, a []reflect.Value) []reflect.Value {
		mu := a[0].Interface().(*sync.RWMutex)
		if readers(mu).Load() >= 0 { // no writer has it
			panic(plainError("sync: Unlock of unlocked RWMutex"))
		}
		mu.Unlock()
		return nil
	},
	"sync.(*RWMutex).RUnlock": func(_ *thread, a []reflect.Value) []reflect.Value {
		mu := a[0].Interface().(*sync.RWMutex)
		if n := readers(mu).Load(); n == 0 || n == -maxReaders {
			panic(plainError("sync: RUnlock of unlocked RWMutex"))
		}
		mu.RUnlock()
		return nil
	},
	"runtime.SetFinalizer": setFinalizer,
	"sync.OnceFunc":        onceOf(reflect.TypeFor[func()]()),
	"sync.(*RWMutex).Lock": func(th *thread, a []reflect.Value) []reflect.Value {
		mu := a[0].Interface().(*sync.RWMutex)
		th.lock(mu.TryLock, mu.Lock, mu.Unlock)
		return nil
	},
	"sync.(*RWMutex).RLock": func(th *thread, a []reflect.Value) []reflect.Value {
		mu := a[0].Interface().(*sync.RWMutex)
		th.lock(mu.TryRLock, mu.RLock, mu.RUnlock)
		return nil
	},
}

// cloneMap is the body of maps.Clone that the runtime has.
func cloneMap(m reflect.Value) reflect.Value {
	if m.IsNil() {
		return m
	}
	c := reflect.MakeMapWithSize(m.Type(), m.Len())
	for it := m.MapRange(); it.Next(); {
		c.SetMapIndex(it.Key(), it.Value())
	}
	return c
}

func sleep(th *thread, a []reflect.Value) []reflect.Value {
	timer := time.NewTimer(time.Duration(a[0].Int()))
	defer timer.Stop()
	th.wait(timer.C)
	return nil
}

// wait waits for a channel or an interrupt.
func (th *thread) wait(ch any) {
	th.await(th.doing.Load(), []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)}})
}

// until runs something that blocks aside, so that an interrupt can leave it;
// undo runs when it ends after that.
func (th *thread) until(block, undo func()) {
	done := make(chan struct{})
	left := make(chan struct{})
	failed := make(chan any, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				failed <- r
				close(done)
			}
		}()
		block()
		select {
		case done <- struct{}{}:
		case <-left:
			undo()
		}
	}()
	defer close(left)
	th.wait(done)
	select {
	case r := <-failed:
		panic(r)
	default:
	}
}

// Unlocking what is not locked is a panic, where Go would end the process.

// readers counts those who have or want a lock for reading, less maxReaders while
// a writer has or wants it.
func readers(mu *sync.RWMutex) *atomic.Int32 {
	return (*atomic.Int32)(unsafe.Add(pointer(mu), readerCount.Offset))
}

const maxReaders = 1 << 30

var readerCount, _ = reflect.TypeFor[sync.RWMutex]().FieldByName("readerCount")

func init() {
	var mu sync.RWMutex
	mu.RLock()
	one := readers(&mu).Load()
	mu.RUnlock()
	mu.Lock()
	if readerCount.Type != reflect.TypeFor[atomic.Int32]() || one != 1 || readers(&mu).Load() != -maxReaders {
		panic("eval: this Go release counts the readers of a lock in another way")
	}
}

// setFinalizer panics where Go would end the process, and takes the place of an
// earlier finalizer: a cell may be run again.
func setFinalizer(_ *thread, a []reflect.Value) []reflect.Value {
	obj, f := dynamic(a[0]), dynamic(a[1])
	switch {
	case !obj.IsValid() || obj.Kind() != reflect.Pointer || obj.IsNil():
		panic(plainError("runtime.SetFinalizer: first argument is not a pointer to something"))
	case f.IsValid() && (f.Kind() != reflect.Func || f.Type().NumIn() != 1 || !obj.Type().AssignableTo(f.Type().In(0))):
		panic(plainError(fmt.Sprintf("runtime.SetFinalizer: cannot pass %s to finalizer %s", obj.Type(), f.Type())))
	}
	runtime.SetFinalizer(obj.Interface(), nil)
	if f.IsValid() {
		runtime.SetFinalizer(obj.Interface(), f.Interface())
	}
	return nil
}

func (th *thread) lock(try func() bool, lock, unlock func()) {
	if !try() {
		th.until(lock, unlock)
	}
}
