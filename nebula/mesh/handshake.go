package mesh

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a connection may take to prove what it is.
const patience = 5 * time.Second

// errStranger is a connection whose other end is not of this job.
var errStranger = errors.New("the other end does not prove that it is of this job")

// proof shows that one side of a handshake knows the token.
func (c *Config) proof(side string, said, nonce []byte) []byte {
	h := hmac.New(sha256.New, c.Token)
	h.Write([]byte(side))
	h.Write(said)
	h.Write(nonce)
	return h.Sum(nil)
}

// greet is the handshake of the side that connects, up to its proof. The other's
// verdict follows.
func (m *Mesh) greet(c net.Conn, to int, purpose string, limit time.Time) error {
	h := hello{
		Epoch: m.config.Epoch, From: m.config.Rank, To: to, Size: m.config.Size, Port: m.port(),
		Job: m.config.Job, Purpose: purpose, Host: m.config.Host, Digest: m.config.Digest,
	}
	rand.Read(h.Nonce[:]) // does not fail
	said := h.encode(nil)
	if err := c.SetDeadline(limit); err != nil {
		return err
	}
	if _, err := io.WriteString(c, magic); err != nil {
		return err
	}
	if err := writeFrame(c, said); err != nil {
		return err
	}
	var answer [nonceSize + sha256.Size]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		return fmt.Errorf("%w: %w", errStranger, err)
	}
	nonce := answer[:nonceSize]
	if !hmac.Equal(answer[nonceSize:], m.config.proof("accept", said, nonce)) {
		return errStranger
	}
	_, err := c.Write(m.config.proof("connect", said, nonce))
	return err
}

// receive is the handshake of the side that listens, up to the other's proof.
func (m *Mesh) receive(c net.Conn) (*hello, error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if err := sameUser(c); err != nil {
		return nil, err
	}
	var begin [len(magic)]byte
	if _, err := io.ReadFull(c, begin[:]); err != nil {
		return nil, err
	}
	if string(begin[:]) != magic {
		return nil, fmt.Errorf("it begins with %q", begin)
	}
	said, err := readFrame(c, maxHello)
	if err != nil {
		return nil, err
	}
	h, err := parseHello(said)
	if err != nil {
		return nil, err
	}
	switch {
	case h.Job != m.config.Job:
		return nil, fmt.Errorf("it is of job %q, not %q", h.Job, m.config.Job)
	case h.Epoch != m.config.Epoch:
		return nil, fmt.Errorf("it is of epoch %d, not %d", h.Epoch, m.config.Epoch)
	case h.To != m.config.Rank:
		return nil, fmt.Errorf("it looks for rank %d", h.To)
	}
	var answer [nonceSize]byte
	rand.Read(answer[:])
	if _, err := c.Write(append(answer[:], m.config.proof("accept", said, answer[:])...)); err != nil {
		return nil, err
	}
	var proof [sha256.Size]byte
	if _, err := io.ReadFull(c, proof[:]); err != nil {
		return nil, err
	}
	if !hmac.Equal(proof[:], m.config.proof("connect", said, answer[:])) {
		return nil, errors.New("its token is another")
	}
	return h, nil
}

// sameUser refuses processes of other users on this host.
func sameUser(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var user uint32
	var failure error
	if err := raw.Control(func(fd uintptr) { user, failure = peerUser(int(fd)) }); err != nil {
		return err
	}
	if failure == nil && int(user) != unix.Getuid() {
		failure = fmt.Errorf("it is of user %d, not %d", user, unix.Getuid())
	}
	return failure
}

// decide sends the verdict.
func decide(c net.Conn, v *verdict, limit time.Time) error {
	if err := c.SetDeadline(limit); err != nil {
		return err
	}
	return writeFrame(c, v.encode())
}

// hear reads the verdict. A refusal is an error.
func hear(c net.Conn) (*verdict, error) {
	b, err := readFrame(c, maxVerdict)
	if err != nil {
		return nil, err
	}
	v, err := parseVerdict(b)
	if err == nil && v.Refusal != "" {
		err = refusal(v.Refusal)
	}
	return v, err
}

// refusal is what the other side says why a rank is not let in.
type refusal string

func (r refusal) Error() string { return string(r) }
