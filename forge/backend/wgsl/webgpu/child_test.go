package webgpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"forgekernel/forge/backend/wgsl"
)

// message is a text and bytes as they stand on a pipe.
func message(text string, payload ...byte) []byte {
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(payload)))
	return append(append(head, text...), payload...)
}

// speaks puts a program in place of Node in PATH: it writes its number to the file pid,
// says what the messages are, and then does what the command does.
func speaks(t *testing.T, command string, messages ...[]byte) (pid string) {
	t.Helper()
	dir := t.TempDir()
	pid = filepath.Join(dir, "pid")
	for name, text := range map[string]string{
		"said": string(bytes.Join(messages, nil)),
		"node": fmt.Sprintf("#!/bin/sh\necho $$ > %s\ncat %s/said\n%s\n", pid, dir, command),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv(Modules, dir)
	return pid
}

// TestOpenMissing sees that a host without Dawn gets one clear reason.
func TestOpenMissing(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		said    string
		want    string
	}{
		"no package": {"", string(message(`{"error": {"kind": "process", "message": "Cannot find package 'webgpu'"}}`)), "Cannot find package 'webgpu'"},
		"no adapter": {"", string(message(`{"error": {"kind": "adapter", "message": "no GPU"}}`)), "no GPU"},
		"silent":     {"exit 3", "", "the process of Node failed: EOF"},
		"message":    {"echo 'SyntaxError: what' >&2; exit 1", "", "failed: SyntaxError: what"},
		"no frame":   {"echo hello, you there", "", "a message of 1819043176 bytes is too long"},
		"no JSON":    {"", string(message("hello")), "invalid character"},
		"half":       {"", string(message("hello"))[:10], "unexpected EOF"},
		"bytes":      {"", string(message("{}", 1)), "a message with 1 bytes where there are 0"},
	} {
		t.Run(name, func(t *testing.T) {
			speaks(t, c.command, []byte(c.said))
			_, err := Open(t.Context())
			var missing *Missing
			if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
	t.Setenv(Modules, "")
	if _, err := Open(t.Context()); err == nil || !strings.Contains(err.Error(), Modules) {
		t.Errorf("without the variable: %v", err)
	}
	t.Setenv(Modules, t.TempDir())
	t.Setenv("PATH", "")
	if _, err := Open(t.Context()); err == nil || !strings.Contains(err.Error(), `"node"`) {
		t.Errorf("without Node: %v", err)
	}
}

// TestOpenEnds: a process that never says a word ends with the context.
func TestOpenEnds(t *testing.T) {
	pid := speaks(t, "sleep 600")
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("the cell was interrupted")
	go func() {
		begun(t, pid)
		cancel(because)
	}()
	if _, err := Open(ctx); err != because {
		t.Errorf("the error is %v", err)
	}
	gone(t, pid)
}

// begun waits until a process has written its number to a file, a line, or the test
// ends.
func begun(t *testing.T, file string) {
	for t.Context().Err() == nil {
		if text, _ := os.ReadFile(file); strings.HasSuffix(string(text), "\n") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// gone waits for the end of a process that wrote its number to a file.
func gone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); syscall.Kill(pid, 0) != syscall.ESRCH; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// small is a plan of one word that goes out and one that comes in.
var small = &wgsl.Plan{Name: "small", Buffers: []wgsl.Buffer{{Name: "x", Kind: wgsl.Input, Bytes: 4}, {Name: "y", Kind: wgsl.Output, Bytes: 4}}}

// TestAnswers: what the process says after it said hello.
func TestAnswers(t *testing.T) {
	hello := message(`{"adapter": "a GPU", "features": ["shader-f16", "subgroups"]}`)
	for name, c := range map[string]struct {
		command string
		said    []byte
		kind    Kind
		want    string
	}{
		"result":   {"sleep 600", message("{}", 1, 2, 3, 4), "", ""},
		"error":    {"sleep 600", message(`{"error": {"kind": "lost", "message": "it went away"}}`), Lost, "it went away"},
		"ends":     {"echo 'Segmentation fault' >&2", nil, Process, "Segmentation fault"},
		"too many": {"sleep 600", message("{}", 1, 2, 3, 4, 5), Process, "a message with 5 bytes where there are 4"},
		"too few":  {"", message("{}", 1, 2, 3, 4)[:12], Process, "the process of Node failed"},
		"garbage":  {"echo a warning of a driver; sleep 600", nil, Process, "is too long"},
		"silent":   {"exec >&-; sleep 600", nil, Process, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			pid := speaks(t, c.command, hello, c.said)
			d, err := Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Features(); len(got) != 1 || got[0] != wgsl.ShaderF16 {
				t.Errorf("the features are %v", got)
			}
			m := small.NewMemory()
			err = d.Run(t.Context(), small, m)
			var e *Error
			switch {
			case c.kind == "" && (err != nil || !bytes.Equal(m[1], []byte{1, 2, 3, 4})):
				t.Errorf("%v, %v", m[1], err)
			case c.kind != "" && (!errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.want)):
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
			d.Close()
			gone(t, pid)
		})
	}
}

// TestRestart: a process that ends between two runs fails one of them, and is replaced.
func TestRestart(t *testing.T) {
	speaks(t, "sleep 600", message("{}"), message("{}", 1, 2, 3, 4))
	d, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var e *Error
	for i, want := range []bool{true, false, true} {
		err := d.Run(t.Context(), small, small.NewMemory())
		if want != (err == nil) || !want && (!errors.As(err, &e) || e.Kind != Process) {
			t.Errorf("run %d: %v", i, err)
		}
		if i == 0 {
			d.child.kill()
		}
	}
}

// TestRestartFails: a process that cannot be started again, or starts and fails, fails a
// run, and leaves the device as it was.
func TestRestartFails(t *testing.T) {
	hello, result := message(`{"adapter": "a GPU"}`), message("{}", 1, 2, 3, 4)
	dir := filepath.Dir(speaks(t, "sleep 600", hello, result))
	d, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node, away, said := filepath.Join(dir, "node"), filepath.Join(dir, "away"), filepath.Join(dir, "said")
	says := func(messages ...[]byte) error { return os.WriteFile(said, bytes.Join(messages, nil), 0o600) }
	for _, step := range []struct {
		name   string
		change func() error
		want   string // in the error
	}{
		{"gone", func() error { return os.Rename(node, away) }, "no such file"},
		{"still gone", func() error { return nil }, "no such file"},
		{"no adapter", func() error {
			return errors.Join(os.Rename(away, node), says(message(`{"error": {"kind": "adapter", "message": "a reset"}}`)))
		}, "a reset"},
		{"as before", func() error { return says(hello, result) }, ""},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		if d.child != nil {
			d.child.kill()
			d.drop()
		}
		m := small.NewMemory()
		err := d.Run(t.Context(), small, m)
		var e *Error
		if step.want == "" && (err != nil || !bytes.Equal(m[1], []byte{1, 2, 3, 4})) || step.want != "" && (!errors.As(err, &e) || !strings.Contains(e.Message, step.want)) {
			t.Errorf("%s: %v, want %q in it", step.name, err, step.want)
		}
		if d.Adapter() != "Dawn on a GPU" {
			t.Errorf("%s: the adapter is %q", step.name, d.Adapter())
		}
	}
	d.Close()
	d.Close()
}

// TestWaitEnds: a run that waits for one that hangs, in a process that is stopped, ends with
// its own context, and the other with its.
func TestWaitEnds(t *testing.T) {
	pid := speaks(t, "kill -STOP $$", message("{}"))
	d, err := Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	first, cancelFirst := context.WithCancelCause(t.Context())
	second, cancelSecond := context.WithCancelCause(t.Context())
	run := func(ctx context.Context) chan error {
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx, small, small.NewMemory()) }()
		return ended
	}
	hangs := run(first)
	for len(d.turn) == 0 {
		time.Sleep(time.Millisecond)
	}
	waits := run(second)
	tired, interrupted := errors.New("it waited for too long"), errors.New("the cell was interrupted")
	cancelSecond(tired)
	if err := <-waits; err != tired {
		t.Errorf("the run that waits: %v", err)
	}
	cancelFirst(interrupted)
	if err := <-hangs; err != interrupted {
		t.Errorf("the run that hangs: %v", err)
	}
	gone(t, pid)
}

// TestTooMuch: a plan whose buffers no message can hold is refused before it goes out.
func TestTooMuch(t *testing.T) {
	p := &wgsl.Plan{Name: "large"}
	half := make([]byte, maxMessage/2)
	m := wgsl.Memory{half, half, half}
	for range m {
		p.Buffers = append(p.Buffers, wgsl.Buffer{Kind: wgsl.Input, Bytes: maxMessage / 2})
	}
	var e *Error
	if err := (&Device{}).Run(t.Context(), p, m); !errors.As(err, &e) || e.Kind != Limit || !strings.Contains(e.Message, "1536 MiB; the limit is 1024 MiB") {
		t.Errorf("the error is %v", err)
	}
}

// patched is a package "webgpu" before the one that is there, which it changes.
const patched = `import { create, globals } from %q;
const { GPUDevice, GPUQueue, GPUOutOfMemoryError } = globals;
%s
export { create, globals };
`

// TestDeviceFails has Dawn fail as it does when memory runs out or a driver is reset.
func TestDeviceFails(t *testing.T) {
	real := os.Getenv(Modules)
	d, err := Open(t.Context())
	if missing := (*Missing)(nil); errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	for name, c := range map[string]struct {
		change string
		kind   Kind
		want   string
	}{
		"memory": {`let n = 0; GPUDevice.prototype.popErrorScope = async () => (n++ % 3 === 1 ? new GPUOutOfMemoryError("no room") : null);`, Memory, "no room"},
		"lost": {`const { submit } = GPUQueue.prototype, { createBuffer } = GPUDevice.prototype;
let device;
GPUDevice.prototype.createBuffer = function (d) { device = this; return createBuffer.call(this, d); };
GPUQueue.prototype.submit = function (list) { submit.call(this, list); device.destroy(); };`, Lost, "the device was lost (destroyed)"},
		"no device":  {`globals.GPUAdapter.prototype.requestDevice = async () => { throw new Error("not now"); };`, NoAdapter, "gives no device: not now"},
		"throws":     {`GPUDevice.prototype.createBindGroup = () => { throw new TypeError("what is this?"); };`, Validation, "what is this?"},
		"unforeseen": {`GPUDevice.prototype.createCommandEncoder = undefined; GPUQueue.prototype.writeBuffer = () => { process.exit(3); };`, Process, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "node_modules", "webgpu")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				"package.json": `{"name": "webgpu", "type": "module", "main": "index.js"}`,
				"index.js":     fmt.Sprintf(patched, filepath.Join(real, "node_modules", "webgpu", "index.js"), c.change),
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv(Modules, filepath.Dir(filepath.Dir(dir)))
			d, err := Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			data, err := os.ReadFile("../testdata/example.json")
			if err != nil {
				t.Fatal(err)
			}
			p, err := wgsl.ReadPlan(data)
			if err != nil {
				t.Fatal(err)
			}
			var e *Error
			if err := d.Run(t.Context(), p, p.NewMemory()); !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Message, c.want) {
				t.Errorf("the error is %v, want %q in it", err, c.want)
			}
		})
	}
}

// FuzzMessage: whatever a process says, reading it ends and fills no more than it was given.
func FuzzMessage(f *testing.F) {
	f.Add(message("{}", 1, 2, 3, 4))
	f.Add(message(`{"error": {"kind": "lost"}}`))
	f.Add(message("{}", 1, 2, 3, 4)[:11])
	f.Add([]byte{255, 255, 255, 63, 0, 0, 0, 0, '{'})
	f.Fuzz(func(t *testing.T, data []byte) {
		into := make([]byte, 4)
		err := readMessage(bytes.NewReader(data), &reply{}, [][]byte{into})
		if err == nil && !bytes.Contains(data, into) {
			t.Errorf("%q gives %v", data, into)
		}
		if err == nil { // and so nothing of it is missing
			n := 8 + int(binary.LittleEndian.Uint32(data)) + len(into)
			if err := readMessage(bytes.NewReader(data[:n-1]), &reply{}, [][]byte{into}); err != io.ErrUnexpectedEOF {
				t.Errorf("%q without its last byte: %v", data, err)
			}
		}
	})
}
