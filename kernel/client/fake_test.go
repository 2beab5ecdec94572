package client

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// The test binary is also the kernel that the tests start.
func TestMain(m *testing.M) {
	if path := os.Getenv("FAKE_KERNEL"); path != "" {
		if err := runFake(path, os.Getenv("FAKE_MODE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fake is a kernel whose cells are commands: "print TEXT", "flood N", "fail",
// "ask PROMPT", "die", "hang" (until interrupted).
type fake struct {
	signer              *wire.Signer
	session             *wire.Session
	shell, stdin        *zmtp.Router
	iopub               *zmtp.XPub
	count               int
	interrupt, shutdown chan struct{}
}

func runFake(path, mode string) error {
	if mode == "broken" {
		return fmt.Errorf("this kernel cannot start")
	}
	c, err := wire.ReadConnection(path)
	if err != nil {
		return err
	}
	k := &fake{session: wire.NewSession("fake"), interrupt: make(chan struct{}, 1), shutdown: make(chan struct{})}
	if k.signer, err = c.Signer(); err != nil {
		return err
	}
	opts := zmtp.Options{}
	if mode != "mute" { // a kernel without iopub_welcome
		opts.Welcome = func(topic []byte) [][]byte {
			m, err := k.session.New("iopub_welcome", nil, wire.Welcome{Subscription: string(topic)})
			if err != nil {
				panic(err)
			}
			return k.signer.Serialize(m)
		}
	}
	var control *zmtp.Router
	for _, bind := range []struct {
		to   **zmtp.Router
		port int
	}{{&k.shell, c.ShellPort}, {&control, c.ControlPort}, {&k.stdin, c.StdinPort}} {
		if *bind.to, err = zmtp.ListenRouter(c.Endpoint(bind.port), zmtp.Options{}); err != nil {
			return err
		}
	}
	beat, err := zmtp.ListenEcho(c.Endpoint(c.HBPort), zmtp.Options{})
	if err != nil {
		return err
	}
	if mode == "mute" {
		time.Sleep(50 * time.Millisecond) // makes sure that nobody is subscribed in time
	}
	if k.iopub, err = zmtp.ListenXPub(c.Endpoint(c.IOPubPort), opts); err != nil {
		return err
	}
	go func() {
		for range k.iopub.Events() {
		}
	}()
	go k.serve(k.shell, k.onShell)
	go k.serve(control, func(m *wire.Message) any {
		switch m.Header.MsgType {
		case "interrupt_request":
			k.interrupt <- struct{}{}
			return wire.StatusReply{Status: wire.StatusOK}
		case "shutdown_request":
			return wire.ShutdownReply{Status: wire.StatusOK}
		case "silence_request": // stop answering heartbeats, as a hung process does
			beat.Close()
			return wire.StatusReply{Status: wire.StatusOK}
		}
		return nil
	})
	<-k.shutdown
	control.Close()
	return nil
}

func (k *fake) serve(r *zmtp.Router, handle func(*wire.Message) any) {
	for {
		in, err := r.Recv(context.Background())
		if err != nil {
			return
		}
		m, err := k.signer.Parse(in.Frames)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		k.publish("status", m, wire.Status{ExecutionState: wire.Busy})
		if content := handle(m); content != nil {
			reply, err := k.session.New(strings.Replace(m.Header.MsgType, "_request", "_reply", 1), m, content)
			if err != nil {
				panic(err)
			}
			r.Send(in.Peer, k.signer.Serialize(reply)...)
		}
		k.publish("status", m, wire.Status{ExecutionState: wire.Idle})
		if m.Header.MsgType == "shutdown_request" {
			close(k.shutdown)
		}
	}
}

func (k *fake) publish(msgType string, parent *wire.Message, content any) {
	m, err := k.session.New(msgType, parent, content)
	if err != nil {
		panic(err)
	}
	m.Identities = [][]byte{[]byte("kernel." + msgType)}
	k.iopub.Publish(context.Background(), k.signer.Serialize(m)...)
}

func (k *fake) onShell(m *wire.Message) any {
	switch m.Header.MsgType {
	case "kernel_info_request":
		return wire.KernelInfoReply{Status: wire.StatusOK, Implementation: "fake", ProtocolVersion: wire.Version}
	case "complete_request":
		var req wire.CompleteRequest
		m.Decode(&req)
		return wire.CompleteReply{Status: wire.StatusOK, Matches: []string{req.Code + "!"}, CursorEnd: req.CursorPos}
	case "inspect_request":
		return wire.InspectReply{Status: wire.StatusOK, Found: true}
	case "is_complete_request":
		return wire.IsCompleteReply{Status: "incomplete", Indent: "  "}
	case "history_request":
		return wire.HistoryReply{Status: wire.StatusOK, History: []wire.HistoryEntry{{Session: 1, Line: 2, Input: "x"}}}
	case "comm_info_request":
		return wire.ErrorReply{Status: wire.StatusError, Failure: wire.Failure{Name: "NoComms", Value: "there are none"}}
	case "execute_request":
		return k.execute(m)
	}
	return nil
}

func (k *fake) execute(m *wire.Message) any {
	var req wire.ExecuteRequest
	if err := m.Decode(&req); err != nil {
		panic(err)
	}
	k.count++
	failure := func(name, value string) any {
		f := wire.Failure{Name: name, Value: value}
		k.publish("error", m, f)
		return wire.ExecuteErrorReply{Status: wire.StatusError, ExecutionCount: k.count, Failure: f}
	}
	command, arg, _ := strings.Cut(req.Code, " ")
	switch command {
	case "print":
		k.publish("stream", m, wire.Stream{Name: "stdout", Text: arg})
	case "flood":
		n, _ := strconv.Atoi(arg)
		for i := range n {
			k.publish("stream", m, wire.Stream{Name: "stdout", Text: fmt.Sprint(i)})
		}
	case "fail":
		return failure("Failure", arg)
	case "ask":
		if !req.AllowStdin {
			return failure("NoStdin", "")
		}
		return k.ask(m, arg)
	case "hang":
		<-k.interrupt
		return failure("Interrupted", "")
	case "die":
		fmt.Fprintln(os.Stderr, "fatal: last words")
		k.publish("stream", m, wire.Stream{Name: "stdout", Text: "before"})
		k.iopub.Close()
		os.Exit(7)
	}
	return wire.ExecuteReply{Status: wire.StatusOK, ExecutionCount: k.count}
}

// ask sends the question to the stdin socket with the identity of the shell.
func (k *fake) ask(m *wire.Message, prompt string) any {
	q, err := k.session.New("input_request", m, wire.InputRequest{Prompt: prompt, Password: true})
	if err != nil {
		panic(err)
	}
	peer, err := k.stdin.AwaitIdentity(context.Background(), shellIdentity(k.shell))
	if err != nil {
		panic(err)
	}
	k.stdin.Send(peer, k.signer.Serialize(q)...)
	in, err := k.stdin.Recv(context.Background())
	if err != nil {
		panic(err)
	}
	answer, err := k.signer.Parse(in.Frames)
	if err != nil {
		panic(err)
	}
	var reply wire.InputReply
	answer.Decode(&reply)
	k.publish("stream", m, wire.Stream{Name: "stdout", Text: reply.Status + " " + reply.Value})
	return wire.ExecuteReply{Status: wire.StatusOK, ExecutionCount: k.count}
}

// shellIdentity is that of the only client there is.
func shellIdentity(shell *zmtp.Router) []byte { return shell.Identity(1) }
