// Package fakekernel is a Jupyter kernel for tests. Its cells are scripts of
// one command a line:
//
//	print TEXT      write TEXT and a newline to stdout
//	eprint TEXT     the same to stderr
//	show ID TEXT    display TEXT under a display id; "-" is none
//	update ID TEXT  change what is displayed under the id
//	send TYPE JSON  publish any message
//	result TEXT     the value of the cell
//	page TEXT       reply with TEXT for a pager
//	clear, clear wait
//	fail NAME TEXT  end the cell in an error
//	hang            wait for an interrupt, print "stopping", end in an error
//	stick           wait forever
//	die             end the process
//
// Anything else prints itself.
package fakekernel

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"forgekernel/kernel/client"
	"forgekernel/kernel/wire"
	"forgekernel/kernel/zmtp"
)

// role makes a test binary a kernel, whose argument is a connection file.
const role = "FAKE_KERNEL"

// Main is to be called first thing in TestMain: in a process that Command
// started it runs the kernel and does not return.
func Main() {
	if os.Getenv(role) == "" {
		return
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// Command starts the running test binary as a kernel.
func Command() (client.Command, error) {
	self, err := os.Executable()
	return client.Command{Argv: []string{self, "{connection_file}"}, Env: []string{role + "=1"}}, err
}

type kernel struct {
	signer    *wire.Signer
	session   *wire.Session
	iopub     *zmtp.XPub
	count     int
	interrupt chan struct{}
}

func run(path string) error {
	c, err := wire.ReadConnection(path)
	if err != nil {
		return err
	}
	k := &kernel{session: wire.NewSession("fake"), interrupt: make(chan struct{}, 1)}
	if k.signer, err = c.Signer(); err != nil {
		return err
	}
	if k.iopub, err = zmtp.ListenXPub(c.Endpoint(c.IOPubPort), zmtp.Options{Welcome: k.welcome}); err != nil {
		return err
	}
	go func() {
		for range k.iopub.Events() {
		}
	}()
	if _, err := zmtp.ListenEcho(c.Endpoint(c.HBPort), zmtp.Options{}); err != nil {
		return err
	}
	if _, err := zmtp.ListenRouter(c.Endpoint(c.StdinPort), zmtp.Options{}); err != nil {
		return err
	}
	shell, err := zmtp.ListenRouter(c.Endpoint(c.ShellPort), zmtp.Options{})
	if err != nil {
		return err
	}
	control, err := zmtp.ListenRouter(c.Endpoint(c.ControlPort), zmtp.Options{})
	if err != nil {
		return err
	}
	go func() { fmt.Fprintln(os.Stderr, k.serve(shell, k.onShell)) }()
	err = k.serve(control, k.onControl)
	if closeErr := control.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (k *kernel) welcome(topic []byte) [][]byte {
	return k.signer.Serialize(k.message("iopub_welcome", nil, wire.Welcome{Subscription: string(topic)}))
}

func (k *kernel) message(msgType string, parent *wire.Message, content any) *wire.Message {
	m, err := k.session.New(msgType, parent, content)
	if err != nil {
		panic(err)
	}
	return m
}

func (k *kernel) publish(msgType string, parent *wire.Message, content any) {
	m := k.message(msgType, parent, content)
	m.Identities = [][]byte{[]byte(msgType)}
	if err := k.iopub.Publish(context.Background(), k.signer.Serialize(m)...); err != nil {
		panic(err)
	}
}

// serve answers requests until one of them is to shut down.
func (k *kernel) serve(r *zmtp.Router, handle func(*wire.Message) any) error {
	for {
		in, err := r.Recv(context.Background())
		if err != nil {
			return err
		}
		m, err := k.signer.Parse(in.Frames)
		if err != nil {
			return err
		}
		k.publish("status", m, wire.Status{ExecutionState: wire.Busy})
		reply := k.message(strings.TrimSuffix(m.Header.MsgType, "_request")+"_reply", m, handle(m))
		if err := r.Send(in.Peer, k.signer.Serialize(reply)...); err != nil {
			return err
		}
		k.publish("status", m, wire.Status{ExecutionState: wire.Idle})
		if m.Header.MsgType == "shutdown_request" {
			return nil
		}
	}
}

func (k *kernel) onControl(m *wire.Message) any {
	if m.Header.MsgType == "interrupt_request" {
		k.interrupt <- struct{}{}
	}
	return wire.StatusReply{Status: wire.StatusOK}
}

func (k *kernel) onShell(m *wire.Message) any {
	switch m.Header.MsgType {
	case "kernel_info_request":
		return wire.KernelInfoReply{
			Status: wire.StatusOK, ProtocolVersion: wire.Version,
			Implementation: "fake", ImplementationVersion: "1.0",
			LanguageInfo: wire.LanguageInfo{Name: "go", FileExtension: ".go"},
		}
	case "execute_request":
		return k.execute(m)
	}
	return wire.StatusReply{Status: wire.StatusOK}
}

func (k *kernel) execute(m *wire.Message) any {
	var req wire.ExecuteRequest
	if err := m.Decode(&req); err != nil {
		panic(err)
	}
	k.count++
	k.publish("execute_input", m, wire.ExecuteInput{Code: req.Code, ExecutionCount: k.count})
	var payload wire.List[wire.Object]
	for line := range strings.SplitSeq(req.Code, "\n") {
		if text, ok := strings.CutPrefix(line, "page "); ok {
			payload = append(payload, wire.Object{"source": "page", "data": wire.Object{"text/plain": text}})
			continue
		}
		if f := k.command(m, line); f != nil {
			k.publish("error", m, f)
			return wire.ExecuteErrorReply{Status: wire.StatusError, ExecutionCount: k.count, Failure: *f}
		}
	}
	return wire.ExecuteReply{Status: wire.StatusOK, ExecutionCount: k.count, Payload: payload}
}

// command runs one line; what it returns ends the cell.
func (k *kernel) command(m *wire.Message, line string) *wire.Failure {
	verb, rest, _ := strings.Cut(line, " ")
	name, text, _ := strings.Cut(rest, " ")
	display := wire.DisplayData{Data: wire.Object{"text/plain": text}}
	if name != "-" {
		display.Transient = wire.Object{"display_id": name}
	}
	switch verb {
	case "print":
		k.publish("stream", m, wire.Stream{Name: "stdout", Text: rest + "\n"})
	case "eprint":
		k.publish("stream", m, wire.Stream{Name: "stderr", Text: rest + "\n"})
	case "show":
		k.publish("display_data", m, display)
	case "update":
		k.publish("update_display_data", m, display)
	case "send":
		k.publish(name, m, json.RawMessage(text))
	case "result":
		k.publish("execute_result", m, wire.ExecuteResult{ExecutionCount: k.count, Data: wire.Object{"text/plain": rest}})
	case "clear":
		k.publish("clear_output", m, wire.ClearOutput{Wait: rest == "wait"})
	case "fail":
		return &wire.Failure{Name: name, Value: text, Traceback: []string{name + ": " + text}}
	case "hang":
		<-k.interrupt
		k.publish("stream", m, wire.Stream{Name: "stdout", Text: "stopping\n"})
		return &wire.Failure{Name: "Interrupted", Value: "by the person", Traceback: []string{"Interrupted"}}
	case "stick":
		select {}
	case "die":
		k.iopub.Close() // sends what is queued
		os.Exit(7)
	default:
		k.publish("stream", m, wire.Stream{Name: "stdout", Text: line + "\n"})
	}
	return nil
}
