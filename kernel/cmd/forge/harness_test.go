package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"forgekernel/install/standin"
	"forgekernel/kernel/client"
	"forgekernel/kernel/wire"
	"forgekernel/nebula/model"
)

// asForge makes the test binary behave as the forge command, so that the
// kernel under test, and the session it starts, are this very build.
const asForge = "FORGE_TEST_MAIN"

// faultVariable names something that goes wrong in this build.
const faultVariable = "FORGE_TEST_FAULT"

func TestMain(m *testing.M) {
	standin.Run() // when it is to be a tool of a host
	if os.Getenv(asForge) != "" {
		switch os.Getenv(faultVariable) {
		case "reference":
			referenceOf = func(string) (*model.Model, error) { return model.Seeded(model.TinyDecoder(), 99) }
		case "hurry":
			stopLimit = time.Second
		}
		main()
		return
	}
	os.Setenv("COLUMNS", "200") // so that what tests look for stands in one line
	os.Exit(m.Run())
}

// patience bounds every wait of these tests. It only ends a test that hangs.
const patience = 2 * time.Minute

// startKernel runs a kernel of this build until the test ends. Further
// arguments go to forge kernel.
func startKernel(t testing.TB, args ...string) *client.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kernel, err := client.Start(ctx, client.Command{
		Argv: append([]string{self, "kernel", "--connection-file", "{connection_file}"}, args...),
		Env:  []string{asForge + "=1", "XDG_STATE_HOME=" + t.TempDir()},
		Dir:  t.TempDir(),
	}, client.Options{Input: answer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kernel.Close() })
	return kernel
}

// answer is the person who types at an input prompt.
func answer(_ context.Context, prompt string, password bool) (string, error) {
	if password {
		return "secret", nil
	}
	return "Ada's \"answer\" to " + prompt, nil
}

// outcome is what a cell did.
type outcome struct {
	status         string
	ename, evalue  string
	traceback      string
	stdout, stderr string
	result         string // text/plain of execute_result
	streams        int    // stream messages
	outputs        []*wire.Message
}

// run executes a cell and waits for its idle.
func run(t testing.TB, kernel *client.Client, code string) outcome {
	t.Helper()
	return finish(t, begin(t, kernel, code))
}

func begin(t testing.TB, kernel *client.Client, code string) *client.Execution {
	t.Helper()
	cell, err := kernel.Execute(t.Context(), code, client.ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

func finish(t testing.TB, cell *client.Execution) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	messages, reply, err := cell.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := outcome{
		status: reply.Status, ename: reply.Name, evalue: reply.Value,
		traceback: strings.Join(reply.Traceback, "\n"), outputs: messages,
	}
	for _, m := range messages {
		got.add(t, m)
	}
	return got
}

func (o *outcome) add(t testing.TB, m *wire.Message) {
	t.Helper()
	var content struct {
		Name, Text string
		Data       map[string]any
	}
	if err := m.Decode(&content); err != nil {
		t.Fatal(err)
	}
	switch m.Header.MsgType {
	case "stream":
		o.streams++
		if content.Name == "stderr" {
			o.stderr += content.Text
		} else {
			o.stdout += content.Text
		}
	case "execute_result":
		o.result, _ = content.Data["text/plain"].(string)
	}
}

// want fails the test unless the cell succeeded with this result.
func (o outcome) want(t testing.TB, result string) {
	t.Helper()
	if o.status != "ok" || o.result != result {
		t.Errorf("status %s, result %q, error %s: %s\n%s; want result %q", o.status, o.result, o.ename, o.evalue, o.traceback, result)
	}
}
