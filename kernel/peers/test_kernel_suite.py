"""Jupyter's own conformance suite, with every sample that it can ask for."""

import jupyter_kernel_test as suite
from jupyter_client.manager import start_new_kernel
from jupyter_kernel_test.msgspec_v5 import validate_message

from messages import TIMEOUT, reply_to


class TestForge(suite.KernelTests):
    """The suite gives a kernel a tenth of a second for each message, and takes what has
    not come within it for the next test's. Here each message has the time that a loaded
    machine needs, and a test begins when the requests of those before are over."""

    @classmethod
    def setUpClass(cls):
        cls.km, cls.kc = start_new_kernel(kernel_name=cls.kernel_name, startup_timeout=TIMEOUT)
        cls.asked = set()
        shell, iopub = cls.kc.shell_channel, cls.kc.iopub_channel
        send, answer, output = shell.send, shell.get_msg, iopub.get_msg

        def sent(msg):
            cls.asked.add(msg["header"]["msg_id"])
            send(msg)

        def shown(timeout=None):
            msg = output(timeout=TIMEOUT)
            if msg["msg_type"] == "status" and msg["content"]["execution_state"] == "idle":
                cls.asked.discard(msg["parent_header"].get("msg_id"))
            return msg

        shell.send, shell.get_msg, iopub.get_msg = sent, lambda timeout=None: answer(timeout=TIMEOUT), shown

    def flush_channels(self):
        reply_to(self.kc, self.kc.kernel_info())
        while self.asked:
            validate_message(self.kc.iopub_channel.get_msg())

    kernel_name = "forge"
    language_name = "go"
    file_extension = ".go"

    code_hello_world = 'fmt.Println("hello, world")'
    code_stderr = 'fmt.Fprintln(os.Stderr, "oops")'
    completion_samples = [
        {"text": "fmt.Printl", "matches": {"Println"}},
        {"text": "strings.ToUp", "matches": {"ToUpper", "ToUpperSpecial"}},
        {"text": "%lsm", "matches": {"%lsmagic"}},
    ]
    complete_code_samples = [
        "1 + 1",
        "x := 1",
        "func f() int { return 1 }",
        "def f(a):\n    return a + 1.0\n",
        "%who",
    ]
    incomplete_code_samples = ["func f() {", "x := (1 +", "def f(a):", 's := `open']
    invalid_code_samples = ["func func", "x := )", "def f(a):\n\treturn a\n"]
    code_page_something = "fmt.Println?"
    code_generate_error = 'panic("no")'
    code_execute_result = [
        {"code": "6 * 7", "result": "42"},
        {"code": '"a" + "b"', "result": "ab"},
        {"code": "[]int{1, 2, 3}[1]", "result": "2"},
    ]
    code_display_data = [
        {"code": 'display.Show(display.HTML("<b>bold</b>"))', "mime": "text/html"},
        {"code": 'display.Show(display.SVG("<svg xmlns=\\"http://www.w3.org/2000/svg\\"/>"))', "mime": "image/svg+xml"},
    ]
    code_history_pattern = "6 ?*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "fmt.Println"
    code_clear_output = "display.Clear(false)"


class TestWelcome(suite.IopubWelcomeTests):
    kernel_name = "forge"
    support_iopub_welcome = True
