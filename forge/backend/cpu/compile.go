package cpu

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"forgekernel/display"
	"forgekernel/forge/backend/objects"
)

// flags are those of every compilation. Products and sums are fused where the
// source says so and nowhere else, and NaN and infinities keep their meaning.
var flags = []string{"-O2", "-std=gnu11", "-fPIC", "-shared", "-fno-math-errno", "-ffp-contract=off", "-fwrapv", "-w", "-Wl,-z,defs"}

// compilers are tried in this order when FORGE_CC is not set.
var compilers = []string{"cc", "gcc", "clang"}

// maxMessage bounds what is kept of a compiler's output.
const maxMessage = 4 << 10

// compiler is the C compiler of the host.
type compiler struct {
	path string
	// identity changes when the file is replaced, and is part of the name under
	// which libraries are kept. To ask for the version would take longer than to
	// load a library.
	identity string
}

// NoCompiler is the error of a host that has no C compiler.
type NoCompiler struct{}

func (NoCompiler) Error() string {
	return fmt.Sprintf("there is no C compiler on this host: none of %s is in PATH, and FORGE_CC is not set", strings.Join(compilers, ", "))
}

// FindCompiler returns the path of the C compiler. The error is [NoCompiler], or
// says what is wrong with FORGE_CC.
func FindCompiler() (string, error) {
	if path := os.Getenv("FORGE_CC"); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("FORGE_CC names no C compiler; it is one path, without arguments: %w", err)
		}
		return found, nil
	}
	for _, name := range compilers {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", NoCompiler{}
}

func findCompiler() (*compiler, error) {
	path, err := FindCompiler()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &compiler{path, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano())}, nil
}

// run starts the compiler in a process group of its own, so that it ends with all
// that it started, and returns its output.
func (c *compiler) run(ctx context.Context, dir string, args ...string) (string, error) {
	if ctx.Err() != nil { // a thread of its own is not worth it
		return "", context.Cause(ctx)
	}
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out := &limited{}
	cmd.Stdout, cmd.Stderr = out, out
	runtime.LockOSThread() // the child ends with the thread that started it
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	text := strings.TrimSpace(out.String())
	switch {
	case err == nil:
		return text, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("the C compiler %s did not finish: %w", c.path, context.Cause(ctx))
	case text != "":
		return "", fmt.Errorf("the C compiler %s failed (%w): %s", c.path, err, text)
	}
	return "", fmt.Errorf("the C compiler %s failed: %w", c.path, err)
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), maxMessage-l.Len())])
	return len(p), nil
}

// errSlow is the cause when the time limit ends a compilation.
var errSlow = errors.New("it took longer than the limit")

// CompilerVersion is the first line of what the C compiler says of its version.
func CompilerVersion(ctx context.Context) (string, error) {
	c, err := findCompiler()
	if err != nil {
		return "", err
	}
	text, err := c.run(ctx, "", "--version")
	first, _, _ := strings.Cut(text, "\n")
	return first, err
}

// build returns the library of a C file, from the cache or by compiling it.
func (b *Backend) build(ctx context.Context, code string) (*library, error) {
	cc, err := findCompiler()
	if err != nil {
		return nil, err
	}
	cache, err := objects.Open("cpu")
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, flags...), b.Target.flags...)
	key := sha256.Sum256([]byte(strings.Join(append(args, cc.identity, code), "\x00")))
	name := hex.EncodeToString(key[:])
	forget := func() { cache.Drop(name) }
	path, err := cache.Find(name)
	if err == nil {
		var l *library
		if l, err = open(path); err == nil {
			l.cached, l.forget = true, forget
			return l, nil
		}
	}
	if !errors.Is(err, objects.ErrMissing) {
		warnRebuilt(ctx, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.CompileLimit, fmt.Errorf("%w of %v", errSlow, b.CompileLimit))
	defer cancel()
	path, err = cache.Build(name, func(dir string) (string, error) { return cc.compile(ctx, dir, code, args) })
	if err != nil {
		return nil, err
	}
	l, err := open(path)
	if err != nil {
		forget()
		return nil, err
	}
	l.forget = forget
	return l, nil
}

// warnRebuilt tells that an object of the cache could not be used.
func warnRebuilt(ctx context.Context, err error) {
	_ = display.ShowContext(ctx, &display.Diagnostic{
		Warning: true, Message: err.Error(), Hint: "it is compiled again",
	})
}

// compile makes the library of a C file in a folder, and returns its name.
func (c *compiler) compile(ctx context.Context, dir, code string, args []string) (string, error) {
	const object = "program.so"
	if err := os.WriteFile(filepath.Join(dir, "program.c"), []byte(code), 0o600); err != nil {
		return "", err
	}
	if _, err := c.run(ctx, dir, append(args, "-o", object, "program.c", "-lm")...); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, object)); err != nil {
		return "", fmt.Errorf("the C compiler %s left no library", c.path)
	}
	return object, nil
}
