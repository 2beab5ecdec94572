package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"forgekernel/forge/textfile"
)

// Connection is a connection file: where the five sockets of a kernel are and
// what signs their messages.
type Connection struct {
	Transport       string `json:"transport"` // tcp or ipc
	IP              string `json:"ip"`        // ipc: path prefix of the sockets
	ShellPort       int    `json:"shell_port"`
	IOPubPort       int    `json:"iopub_port"`
	StdinPort       int    `json:"stdin_port"`
	ControlPort     int    `json:"control_port"`
	HBPort          int    `json:"hb_port"`
	Key             string `json:"key"`
	SignatureScheme string `json:"signature_scheme"`
	KernelName      string `json:"kernel_name,omitempty"`
}

// maxConnectionFile bounds a connection file in bytes.
const maxConnectionFile = 64 << 10

// ReadConnection reads and validates a connection file. Ports may be 0: the
// kernel chooses them and writes the file again.
func ReadConnection(path string) (*Connection, error) {
	raw, err := textfile.Read(path, maxConnectionFile)
	if err != nil {
		return nil, fmt.Errorf("wire: connection file: %w", err)
	}
	c, err := ParseConnection(raw)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return c, nil
}

// ParseConnection decodes and validates the text of a connection file.
func ParseConnection(raw []byte) (*Connection, error) {
	if len(raw) > maxConnectionFile {
		return nil, fmt.Errorf("wire: connection file is larger than %d bytes", maxConnectionFile)
	}
	c := &Connection{SignatureScheme: Scheme}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("wire: connection file: %w", textfile.JSONError(raw, err))
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// Validate reports the first thing wrong with c.
func (c *Connection) Validate() error {
	switch c.Transport {
	case "tcp":
		if c.IP == "" {
			return errors.New("wire: connection file: no ip")
		}
	case "ipc":
		if c.IP == "" {
			return errors.New("wire: connection file: no ip; for ipc it is the path prefix of the sockets")
		}
	default:
		return fmt.Errorf("wire: connection file: unknown transport %q, want tcp or ipc", c.Transport)
	}
	used := make(map[int]string)
	for _, p := range c.ports() {
		switch {
		case *p.port < 0 || *p.port > 65535:
			return fmt.Errorf("wire: connection file: %s is %d, want 0 to 65535", p.name, *p.port)
		case *p.port != 0 && used[*p.port] != "":
			return fmt.Errorf("wire: connection file: %s and %s are both %d", used[*p.port], p.name, *p.port)
		}
		used[*p.port] = p.name
	}
	_, err := NewSigner(c.SignatureScheme, []byte(c.Key))
	return err
}

type namedPort struct {
	name string
	port *int
}

func (c *Connection) ports() [5]namedPort {
	return [5]namedPort{
		{"shell_port", &c.ShellPort}, {"iopub_port", &c.IOPubPort}, {"stdin_port", &c.StdinPort},
		{"control_port", &c.ControlPort}, {"hb_port", &c.HBPort},
	}
}

// Endpoint is the ZeroMQ endpoint of one of the connection's ports:
// tcp://ip:port, or ipc://ip-port. For tcp port 0 asks for any free one.
func (c *Connection) Endpoint(port int) string {
	if c.Transport == "ipc" {
		return "ipc://" + c.IP + "-" + strconv.Itoa(port)
	}
	return "tcp://" + net.JoinHostPort(c.IP, strconv.Itoa(port))
}

// Signer returns the connection's signer.
func (c *Connection) Signer() (*Signer, error) {
	return NewSigner(c.SignatureScheme, []byte(c.Key))
}

// Write stores c at path, readable by the owner alone since it holds the key.
// The file is written beside path and renamed, so no reader sees half of it.
func (c *Connection) Write(path string) error {
	if err := c.Validate(); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("wire: connection file: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".connection-*") // mode 0600
	if err != nil {
		return fmt.Errorf("wire: connection file: %w", err)
	}
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("wire: connection file: %w", err)
	}
	return nil
}
