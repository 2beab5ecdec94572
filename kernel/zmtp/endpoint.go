package zmtp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// maxPath is the longest path of a Unix socket in bytes: sun_path less its
// terminating zero.
const maxPath = 107

// splitEndpoint takes tcp://host:port or ipc://path apart into what package net
// calls network and address.
func splitEndpoint(endpoint string) (network, address string, err error) {
	transport, address, ok := strings.Cut(endpoint, "://")
	switch {
	case !ok || address == "":
		return "", "", fmt.Errorf("zmtp: endpoint %q is not tcp://host:port or ipc://path", endpoint)
	case transport == "tcp":
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return "", "", fmt.Errorf("zmtp: endpoint %q: %w", endpoint, err)
		}
		if host == "*" { // ZeroMQ's name for every interface
			host = ""
		}
		return "tcp", net.JoinHostPort(host, port), nil
	case transport == "ipc":
		if len(address) > maxPath {
			return "", "", fmt.Errorf("zmtp: socket path of %d bytes, at most %d: %s", len(address), maxPath, address)
		}
		return "unix", address, nil
	}
	return "", "", fmt.Errorf("zmtp: unknown transport %q in %q, want tcp or ipc", transport, endpoint)
}

// bind listens and returns the endpoint with the real port.
func bind(endpoint string) (net.Listener, string, error) {
	network, address, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, "", err
	}
	if network == "unix" {
		if err := removeStale(address); err != nil {
			return nil, "", err
		}
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, "", fmt.Errorf("zmtp: bind %s: %w", endpoint, err)
	}
	if network == "tcp" {
		return l, "tcp://" + l.Addr().String(), nil
	}
	// net removes the file when the listener closes. Only its owner may connect.
	if err := os.Chmod(address, 0o600); err != nil {
		l.Close()
		return nil, "", fmt.Errorf("zmtp: bind %s: %w", endpoint, err)
	}
	return l, endpoint, nil
}

// removeStale removes a socket file that nobody listens on, left behind by a
// process that was killed.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("zmtp: bind ipc://%s: %w", path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("zmtp: bind ipc://%s: the file exists and is not a socket", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("zmtp: bind ipc://%s: the socket is in use", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("zmtp: bind ipc://%s: %w", path, err)
	}
	return nil
}

// dial connects once.
func dial(ctx context.Context, endpoint string) (net.Conn, error) {
	network, address, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}
