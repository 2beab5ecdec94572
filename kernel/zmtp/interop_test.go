package zmtp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What our sockets say to one another proves little: libzmq is the judge.

const (
	interopMessages = 10_000
	interopLarge    = 20 << 20
)

// python starts a script of testdata with FORGE_PYTHON, a Python that has
// pyzmq. The script serves until its stdin closes and must then succeed.
func python(t *testing.T, script string, args ...string) (io.Writer, *bufio.Reader) {
	t.Helper()
	interpreter := os.Getenv("FORGE_PYTHON")
	if interpreter == "" {
		t.Skip("FORGE_PYTHON does not name a Python with pyzmq")
	}
	args = append([]string{"testdata/" + script}, args...)
	args = append(args, fmt.Sprint(interopMessages), fmt.Sprint(interopLarge))
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	cmd := exec.CommandContext(ctx, interpreter, args...)
	cmd.Stderr = os.Stderr
	stdin := must[io.WriteCloser](t)(cmd.StdinPipe())
	stdout := must[io.ReadCloser](t)(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	})
	return stdin, bufio.NewReader(stdout)
}

func TestLibzmqClients(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		transport, _, _ := strings.Cut(endpoint, ":")
		r := newRouter(t, endpoint, testOptions(t))
		echo(t, r)
		opts := testOptions(t)
		opts.Welcome = func(topic []byte) [][]byte { return [][]byte{topic, []byte("welcome")} }
		x := newXPub(t, newEndpoint(t, transport), opts)
		beat := must[*Echo](t)(ListenEcho(newEndpoint(t, transport), testOptions(t)))
		t.Cleanup(func() { beat.Close() })

		_, out := python(t, "clients.py", r.Endpoint(), x.Endpoint(), beat.Endpoint())
		wantEvent(t, x, "", false)
		ctx := testContext(t)
		for i := range interopMessages {
			if err := x.Publish(ctx, []byte("topic"), fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Publish(ctx, []byte("large"), make([]byte, interopLarge)); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); line != "ok\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		if _, ok := r.PeerByIdentity([]byte("\x00binary\xff identity")); !ok {
			t.Error("the identity is unknown")
		}
	})
}

func TestLibzmqServers(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		transport, _, _ := strings.Cut(endpoint, ":")
		_, out := python(t, "servers.py", endpoint, newEndpoint(t, transport), newEndpoint(t, transport))
		line, err := out.ReadString('\n')
		endpoints := strings.Fields(line)
		if len(endpoints) != 3 {
			t.Fatalf("got %q, %v", line, err)
		}
		ctx := testContext(t)
		d := newDealer(t, endpoints[0], "go")
		sent := make(chan error, 1)
		go func() {
			for i := range interopMessages {
				if err := d.Send(ctx, nil, fmt.Append(nil, i), []byte("x")); err != nil {
					sent <- err
					return
				}
			}
			sent <- d.Send(ctx, make([]byte, interopLarge))
		}()
		for i := range interopMessages {
			wantFrames(t, must[[][]byte](t)(d.Recv(ctx)), "", fmt.Sprint(i), "x")
		}
		if frames := must[[][]byte](t)(d.Recv(ctx)); len(frames[0]) != interopLarge {
			t.Errorf("%d bytes came back", len(frames[0]))
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}

		s := newSub(t, endpoints[1], "topic")
		for i := range interopMessages {
			wantFrames(t, must[[][]byte](t)(s.Recv(ctx)), "topic", fmt.Sprint(i))
		}
		if frames := must[[][]byte](t)(s.Recv(ctx)); len(frames[1]) != interopLarge {
			t.Errorf("%d bytes were published", len(frames[1]))
		}

		r := must[*Req](t)(DialReq(endpoints[2], testOptions(t)))
		defer r.Close()
		for i := range 200 {
			wantFrames(t, must[[][]byte](t)(r.Request(ctx, []byte("beat"), fmt.Append(nil, i))), "beat", fmt.Sprint(i))
		}
	})
}

// A ROUTER that is closed and bound again must hear from the same client.
func TestLibzmqReconnects(t *testing.T) {
	eachTransport(t, func(t *testing.T, endpoint string) {
		r := must[*Router](t)(ListenRouter(endpoint, testOptions(t)))
		endpoint = r.Endpoint()
		in, out := python(t, "reconnect.py", endpoint)
		for _, question := range []string{"one", "two", "three"} {
			echo(t, r)
			fmt.Fprintln(in, question)
			if line, err := out.ReadString('\n'); line != question+"\n" {
				t.Fatalf("got %q, %v; want %q", line, err, question)
			}
			r.Close()
			r = must[*Router](t)(ListenRouter(endpoint, testOptions(t)))
		}
		r.Close()
	})
}
