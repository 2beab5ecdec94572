package ir

import (
	"fmt"
	"regexp"
)

// Device names where a value lives: "cuda:0". The empty name is [CPU], the
// host, which is the default and which the text form leaves out. An operator's
// operands and results share one device unless the operator says otherwise.
type Device string

// CPU is the host.
const CPU Device = ""

var deviceName = regexp.MustCompile(`^[a-z][a-z0-9]*(:[0-9]{1,4})?$`)

// String is the name; "cpu" for the default.
func (d Device) String() string {
	if d == CPU {
		return "cpu"
	}
	return string(d)
}

// ParseDevice reads a name as [Device.String] writes it.
func ParseDevice(name string) (Device, error) {
	if name == "cpu" {
		return CPU, nil
	}
	return Device(name), Device(name).check()
}

func (d Device) check() error {
	if d != CPU && (d == "cpu" || !deviceName.MatchString(string(d))) {
		return fmt.Errorf("%q is not the name of a device; write a kind and a number, such as cuda:0", string(d))
	}
	return nil
}

// device checks that the operands share a device and returns it. A node
// without operands lives where its device attribute says.
func (n *Node) device() (Device, error) {
	if len(n.In) == 0 {
		return ParseDevice(Device(n.Str("device")).String())
	}
	first := n.In[0]
	for _, v := range n.In[1:] {
		if v.Spec.Device != first.Spec.Device {
			return "", fmt.Errorf("operands %v and %v are on different devices, %v and %v", first, v, first.Spec.Device, v.Spec.Device)
		}
	}
	return first.Spec.Device, nil
}
