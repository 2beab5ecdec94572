package webgpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"forgekernel/forge/backend/wgsl"
)

// Environment variables that say where Dawn is.
const (
	// Modules names the folder in whose node_modules the package "webgpu" is.
	Modules = "FORGE_WEBGPU_MODULES"
	// Vulkan names a folder with a loader of Vulkan, libvulkan.so.1, and SwiftShader,
	// which is Vulkan in software: that of Chromium, for one. Without it Dawn takes the
	// GPU of the host.
	Vulkan = "FORGE_WEBGPU_VULKAN"
)

// Device is Dawn in a child process. It is safe for concurrent use, and runs one plan at
// a time.
type Device struct {
	node, folder, vulkan string
	hello                hello // of the first child; those after it have the same GPU

	turn  chan struct{} // full while somebody has the child
	child *child        // nil until it is needed
}

var _ wgsl.Device = (*Device)(nil)

// Open starts the Node in PATH with the package that [Modules] has. The error is a
// [*Missing], or the cause that ended ctx.
func Open(ctx context.Context) (*Device, error) {
	d := &Device{folder: os.Getenv(Modules), vulkan: os.Getenv(Vulkan), turn: make(chan struct{}, 1)}
	if d.folder == "" {
		return nil, &Missing{"the environment variable " + Modules + " names no folder with the npm package webgpu"}
	}
	var err error
	if d.node, err = exec.LookPath("node"); err != nil {
		return nil, &Missing{err.Error()}
	}
	if d.hello, err = d.start(ctx); err == nil {
		return d, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return nil, &Missing{e.Message}
	}
	return nil, &Missing{err.Error()}
}

// Adapter names Dawn and the GPU.
func (d *Device) Adapter() string { return "Dawn on " + d.hello.Adapter }

// Features are those of the adapter that plans have a use for.
func (d *Device) Features() []string {
	if slices.Contains(d.hello.Features, wgsl.ShaderF16) {
		return []string{wgsl.ShaderF16}
	}
	return nil
}

// Limits are the default ones, whatever the adapter has: what runs here runs in browsers.
func (d *Device) Limits() wgsl.Limits { return wgsl.DefaultLimits }

// Close ends the child.
func (d *Device) Close() {
	d.turn <- struct{}{}
	defer func() { <-d.turn }()
	d.drop()
}

func (d *Device) drop() {
	if d.child != nil {
		d.child.close()
		d.child = nil
	}
}

// Run runs a plan. The error is an [*Error], or the cause that ended ctx; after one the
// content of what the host reads is undefined. What is sent in either direction may have
// up to 1 GiB.
func (d *Device) Run(ctx context.Context, p *wgsl.Plan, m wgsl.Memory) error {
	if err := m.Check(p); err != nil {
		return err
	}
	filled, read, err := exchanged(p, m)
	if err != nil {
		return err
	}
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if d.child == nil {
		if _, err := d.start(ctx); err != nil {
			return err
		}
	}
	return d.talk(ctx, func(c *child) error {
		if err := c.send(p, filled); err != nil {
			return err
		}
		return c.receive(&reply{}, read)
	})
}

// exchanged are the buffers that go to the device, and those that come from it.
func exchanged(p *wgsl.Plan, m wgsl.Memory) (filled, read [][]byte, err error) {
	for i, b := range p.Buffers {
		if b.Kind.Filled() && b.Kind != wgsl.Fault { // which is set to 0 there
			filled = append(filled, m[i])
		}
		if b.Kind.Read() {
			read = append(read, m[i])
		}
	}
	if n := max(size(filled), size(read)); n > maxMessage {
		return nil, nil, &Error{Kind: Limit, Message: fmt.Sprintf("%s takes or gives %d MiB; the limit is %d MiB", p.Name, n>>20, maxMessage>>20)}
	}
	return filled, read, nil
}

// start starts a child, and gives what it says first.
func (d *Device) start(ctx context.Context) (hello, error) {
	if ctx.Err() != nil {
		return hello{}, context.Cause(ctx)
	}
	c, err := start(d.node, d.folder, d.vulkan)
	if err != nil {
		return hello{}, &Error{Kind: Process, Message: err.Error()}
	}
	d.child = c
	var said hello
	if err := d.talk(ctx, func(c *child) error { return c.receive(&said, nil) }); err != nil {
		d.drop()
		return hello{}, err
	}
	return said, nil
}

// talk talks with the child. An [*Error] is what the child answers, and leaves it as it
// is; any other failure ends it.
func (d *Device) talk(ctx context.Context, f func(*child) error) error {
	stop := context.AfterFunc(ctx, d.child.kill)
	err := f(d.child)
	killed := !stop()
	var answer *Error
	if killed || err != nil && !errors.As(err, &answer) {
		said := d.child.said
		d.drop() // which has said all then
		if err != nil && ctx.Err() == nil {
			err = &Error{Kind: Process, Message: "the process of Node failed: " + said.or(err)}
		}
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
