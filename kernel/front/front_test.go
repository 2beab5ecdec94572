package front

import (
	"testing"

	"forgekernel/kernel/wire"
)

func TestExecute(t *testing.T) {
	r := start(t)
	m := r.execute("print hello\neprint oops\ndisplay d1 pic\nupdate d1 pic2\nclear wait\nprint more\nresult 42")
	reply, outputs := r.asked(r.shell, m)
	equal(t, "reply", string(reply.Content), `{"status":"ok","execution_count":1,"user_expressions":{},"payload":[]}`)
	equal(t, "outputs", describe(outputs), `execute_input {"code":"print hello\neprint oops\ndisplay d1 pic\nupdate d1 pic2\nclear wait\nprint more\nresult 42","execution_count":1}
stream {"name":"stdout","text":"hello\n"}
stream {"name":"stderr","text":"oops\n"}
display_data {"data":{"text/plain":"pic"},"metadata":{},"transient":{"display_id":"d1"}}
update_display_data {"data":{"text/plain":"pic2"},"metadata":{},"transient":{"display_id":"d1"}}
clear_output {"wait":true}
stream {"name":"stdout","text":"more\n"}
execute_result {"execution_count":1,"data":{"text/plain":"42"},"metadata":{},"transient":{}}
`)
	if reply.Header.Version != wire.Version {
		t.Errorf("version %q", reply.Header.Version)
	}
}
