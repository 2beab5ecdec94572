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
	"strings"
	"syscall"
	"time"
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
	path    string
	version string
}

// findCompiler looks for the compiler and asks for its version, which is part of
// the name under which libraries are kept.
func findCompiler(ctx context.Context) (*compiler, error) {
	c := &compiler{}
	if path := os.Getenv("FORGE_CC"); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return nil, fmt.Errorf("FORGE_CC names no C compiler: %w", err)
		}
		c.path = found
	}
	for i := 0; c.path == "" && i < len(compilers); i++ {
		c.path, _ = exec.LookPath(compilers[i])
	}
	if c.path == "" {
		return nil, fmt.Errorf("there is no C compiler on this host: none of %s is in PATH, and FORGE_CC is not set", strings.Join(compilers, ", "))
	}
	out, err := c.run(ctx, "", "--version")
	c.version = out
	return c, err
}

// run starts the compiler in a process group of its own, so that it ends with all
// that it started, and returns its output.
func (c *compiler) run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out := &limited{}
	cmd.Stdout, cmd.Stderr = out, out
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

// build returns the library of a C file, from the cache or by compiling it.
func (b *Backend) build(ctx context.Context, code string) (*library, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.CompileLimit, fmt.Errorf("%w of %v", errSlow, b.CompileLimit))
	defer cancel()
	cc, err := findCompiler(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, flags...), b.Target.flags...)
	key := sha256.Sum256([]byte(strings.Join(append(args, cc.path, cc.version, code), "\x00")))
	path := filepath.Join(dir, hex.EncodeToString(key[:])+".so")
	if checkObject(path) == nil {
		l, err := open(path)
		if err == nil {
			l.cached = true
		}
		return l, err
	}
	if err := cc.compile(ctx, dir, path, code, args); err != nil {
		return nil, err
	}
	return open(path)
}

// compile writes the library of a C file to path, by way of a directory of its
// own that is removed in any case.
func (c *compiler) compile(ctx context.Context, dir, path, code string, args []string) error {
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "program.c"), []byte(code), 0o600); err != nil {
		return err
	}
	if _, err := c.run(ctx, work, append(args, "-o", "program.so", "program.c", "-lm")...); err != nil {
		return err
	}
	object := filepath.Join(work, "program.so")
	if err := sealObject(object); err != nil {
		return err
	}
	return os.Rename(object, path)
}
