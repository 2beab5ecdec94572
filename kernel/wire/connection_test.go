package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const connectionText = `{"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5,
"ip": "127.0.0.1", "key": "a0436f6c-1916-498b-8eb9-e81ab9368e84", "transport": "tcp",
"signature_scheme": "hmac-sha256", "kernel_name": "forge", "jupyter_session": "unknown fields are fine"}`

func TestConnectionFile(t *testing.T) {
	c, err := ParseConnection([]byte(connectionText))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Endpoint(c.ShellPort); got != "tcp://127.0.0.1:1" {
		t.Error(got)
	}
	path := filepath.Join(t.TempDir(), "kernel.json")
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	back, err := ReadConnection(path)
	if err != nil || *back != *c {
		t.Errorf("got %+v, %v; want %+v", back, err, c)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind %v, %v", entries, err)
	}
	if _, err := ReadConnection(path + "x"); !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("missing file: %v", err)
	}
	if err := (&Connection{}).Write(path); err == nil {
		t.Error("wrote an empty connection")
	}
	if err := c.Write(filepath.Join(path, "below a file")); err == nil {
		t.Error("wrote below a file")
	}
}

func unwrapAll(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = inner.Unwrap()
	}
}

func TestConnectionEndpoints(t *testing.T) {
	for _, c := range []struct {
		connection Connection
		want       string
	}{
		{Connection{Transport: "ipc", IP: "/tmp/kernel-1"}, "ipc:///tmp/kernel-1-7"},
		{Connection{Transport: "tcp", IP: "::1"}, "tcp://[::1]:7"},
		{Connection{Transport: "tcp", IP: "*"}, "tcp://*:7"},
	} {
		if got := c.connection.Endpoint(7); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestConnectionErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"tcp"`, `"pgm"`, `unknown transport "pgm", want tcp or ipc`},
		{`"127.0.0.1"`, `""`, "no ip"},
		{`"shell_port": 1`, `"shell_port": -1`, "shell_port is -1, want 0 to 65535"},
		{`"hb_port": 5`, `"hb_port": 65536`, "hb_port is 65536, want 0 to 65535"},
		{`"hb_port": 5`, `"hb_port": 1`, "shell_port and hb_port are both 1"},
		{`"hb_port": 5`, `"hb_port": "5"`, "text stands where a whole number belongs"},
		{`"hb_port": 5`, `"hb_port": 5.5`, "a number stands where a whole number belongs"},
		{`hmac-sha256`, `hmac-md5`, `unknown signature scheme "hmac-md5"`},
		{`{`, `[`, "connection file: "},
		{`fine`, strings.Repeat("x", maxConnectionFile), "larger than"},
	} {
		_, err := ParseConnection([]byte(strings.Replace(connectionText, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.new[:min(len(c.new), 30)], err, c.want)
		}
	}
	// Ports that the kernel shall choose, and no signatures, are fine.
	for _, in := range []string{`{"transport":"tcp","ip":"x"}`, `{"transport":"ipc","ip":"/x","signature_scheme":""}`} {
		if _, err := ParseConnection([]byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func FuzzConnection(f *testing.F) {
	f.Add([]byte(connectionText))
	f.Add([]byte(`{"transport":"ipc","ip":"/x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseConnection(raw)
		if err != nil {
			return
		}
		if _, err := c.Signer(); err != nil {
			t.Fatalf("a valid connection has no signer: %v", err)
		}
		for _, p := range c.ports() {
			c.Endpoint(*p.port)
		}
	})
}
