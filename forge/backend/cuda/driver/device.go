package driver

import (
	"fmt"
	"unsafe"

	"forgekernel/display"
	"forgekernel/forge/backend/cuda/library"
)

// Device is a GPU.
type Device struct {
	Ordinal        int
	Name           string
	UUID           string // as nvidia-smi writes it
	PCI            string // domain:bus:device.function
	Memory         int64  // bytes
	Capability     Capability
	SMs            int // streaming multiprocessors
	SharedPerBlock int // bytes of shared memory that one block may ask for
	L2             int // bytes
	Clock          int // kHz, at most
	Pools          bool
	lib            *Library
	handle         int32
}

// Capability is a compute capability: 90 is 9.0.
type Capability int

func (c Capability) String() string { return fmt.Sprintf("%d.%d", c/10, c%10) }

// Arch is the target that code for the device is compiled to: "sm_90".
func (c Capability) Arch() string { return fmt.Sprintf("sm_%d", int(c)) }

// HasBF16 reports whether there is arithmetic in bf16, and not an emulation of it.
func (c Capability) HasBF16() bool { return c >= 80 }

// attribute is one of CUdevice_attribute.
type attribute int32

const (
	attrClock           attribute = 13
	attrMultiprocessors attribute = 16
	attrL2              attribute = 38
	attrMajor           attribute = 75
	attrMinor           attribute = 76
	attrSharedOptin     attribute = 97
	attrPools           attribute = 115
)

// Devices are the GPUs that this process may use, in the order of the driver, which
// CUDA_VISIBLE_DEVICES changes.
func (l *Library) Devices() (Devices, error) {
	var count int32
	if err := l.call("", "cuDeviceGetCount", uintptr(unsafe.Pointer(&count))); err != nil {
		return nil, err
	}
	list := make(Devices, count)
	for i := range list {
		list[i] = &Device{Ordinal: i, lib: l}
		if err := list[i].describe(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (d *Device) describe() error {
	detail := fmt.Sprintf("device %d", d.Ordinal)
	var name, bus [256]byte
	var uuid [16]byte
	var memory uint64
	var failed error
	try := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	try(d.lib.call(detail, "cuDeviceGet", uintptr(unsafe.Pointer(&d.handle)), uintptr(d.Ordinal)))
	at := uintptr(d.handle)
	try(d.lib.call(detail, "cuDeviceGetName", uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), at))
	try(d.lib.call(detail, "cuDeviceGetPCIBusId", uintptr(unsafe.Pointer(&bus[0])), uintptr(len(bus)), at))
	try(d.lib.call(detail, "cuDeviceGetUuid", uintptr(unsafe.Pointer(&uuid[0])), at))
	try(d.lib.call(detail, "cuDeviceTotalMem_v2", uintptr(unsafe.Pointer(&memory)), at))
	get := func(a attribute) int {
		var v int32
		try(d.lib.call(fmt.Sprintf("%s, attribute %d", detail, a), "cuDeviceGetAttribute", uintptr(unsafe.Pointer(&v)), uintptr(a), at))
		return int(v)
	}
	d.Capability = Capability(10*get(attrMajor) + get(attrMinor))
	d.Clock = get(attrClock)
	d.SMs, d.L2, d.SharedPerBlock, d.Pools = get(attrMultiprocessors), get(attrL2), get(attrSharedOptin), get(attrPools) != 0
	d.Name, d.PCI, d.Memory = library.Text(&name[0]), library.Text(&bus[0]), int64(memory)
	d.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:])
	return failed
}

// Devices can be looked at.
type Devices []*Device

// Display is a table of the devices.
func (list Devices) Display() display.Bundle {
	t := display.Table{Columns: []display.Column{
		{Name: "device", Align: display.AlignRight}, {Name: "name"}, {Name: "compute capability"}, {Name: "memory", Align: display.AlignRight},
		{Name: "multiprocessors", Align: display.AlignRight}, {Name: "L2", Align: display.AlignRight}, {Name: "PCI"}, {Name: "UUID"},
	}}
	for _, d := range list {
		t.Rows = append(t.Rows, []any{d.Ordinal, d.Name, d.Capability.String(), display.FormatBytes(d.Memory), d.SMs, display.FormatBytes(int64(d.L2)), d.PCI, d.UUID})
	}
	if len(list) == 0 {
		return display.Text("There is no GPU that this process may use.")
	}
	return t.Display()
}
