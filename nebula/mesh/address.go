package mesh

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Ports of jobs lie below the ranges that kernels give to outgoing connections.
const (
	firstPort = 20000
	portCount = 11987 // a prime; the last is below 32000
	tries     = 16    // ports of one rank
)

// place is a hash of what distinguishes a rank's address from all others.
func place(job string, epoch uint32, rank int) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", job, epoch, rank))
}

// socketName is the abstract unix socket of a rank.
func socketName(job string, epoch uint32, rank int) string {
	h := place(job, epoch, rank)
	return fmt.Sprintf("@nebula-%d-%s-%d-%d", os.Getuid(), hex.EncodeToString(h[:8]), epoch, rank)
}

// ports are those that a rank may listen on, in order of preference.
func ports(job string, epoch uint32, rank int) []int {
	h := place(job, epoch, rank)
	first := binary.LittleEndian.Uint32(h[:]) % portCount
	step := binary.LittleEndian.Uint32(h[4:])%(portCount-1) + 1 // no two ports are the same
	list := make([]int, tries)
	for i := range list {
		list[i] = firstPort + int((uint64(first)+uint64(i)*uint64(step))%portCount)
	}
	return list
}

// HostIdentity tells hosts apart: two processes with the same one run under one
// kernel, in one network namespace.
func HostIdentity() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("mesh: which host this is cannot be told: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return "", fmt.Errorf("mesh: which host this is cannot be told: %w", err)
	}
	return strings.TrimSpace(string(boot)) + "/" + namespace, nil
}

// listenAt is the address to bind for connections from other hosts: all of this
// host's, since which one they reach is known only to them, but for a job that
// names the loopback.
func listenAt(address string) string {
	if address == "localhost" {
		return "127.0.0.1"
	}
	if ip := net.ParseIP(address); ip != nil && ip.IsLoopback() {
		return address
	}
	return ""
}

// listenTCP listens on the first free port of a rank.
func listenTCP(c *Config) (net.Listener, error) {
	config := net.ListenConfig{Control: tune}
	var last error
	for _, port := range ports(c.Job, c.Epoch, c.Rank) {
		l, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(listenAt(c.Address), strconv.Itoa(port)))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, fmt.Errorf("mesh: rank %d finds none of its %d ports free: %w", c.Rank, tries, last)
}

// listen opens the doors of a rank.
func (m *Mesh) listen() error {
	c := &m.config
	name := socketName(c.Job, c.Epoch, c.Rank)
	unix, err := net.Listen("unix", name)
	if err != nil {
		return fmt.Errorf("mesh: another process is rank %d of job %q in epoch %d: %w", c.Rank, c.Job, c.Epoch, err)
	}
	m.listeners = append(m.listeners, unix)
	if c.Address != "" {
		tcp, err := listenTCP(c)
		if err != nil {
			return err
		}
		m.listeners = append(m.listeners, tcp)
	}
	for _, l := range m.listeners {
		m.doors.Go(func() { m.serve(l) })
	}
	return nil
}

// port is that of a rank's TCP listener, 0 if it has none.
func (m *Mesh) port() uint16 {
	for _, l := range m.listeners {
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return uint16(a.Port)
		}
	}
	return 0
}
