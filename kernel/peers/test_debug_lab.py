"""JupyterLab's own debugger on Go notebooks, as a person uses it: a breakpoint in the
margin, variables, steps, expressions, panics, a restart.

JupyterLab loses what is clicked in its first moments with a kernel, whichever that is: it
asks several times over what the state of the debugger is, and a click between such a
question and its answer is overruled by the answer, or waits for ever for one that another
question has taken. Repeating a click does not help, since each one undoes the one before.
So the test comes when all is quiet, as a person's hand does.
"""

import json
import os
import signal
import time
import urllib.request

import nbformat
import pytest
from playwright.sync_api import TimeoutError

from conftest import ROOT
from test_lab import CHROMIUM, START, browser, lab, opened  # noqa: F401: two are fixtures

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")

WAIT = START * 1000
CELL = ".jp-Notebook .jp-CodeCell"
HIGHLIGHT = ".jp-Notebook .jp-DebuggerEditor-highlight"
# Not the current widget's: that may be the debugger's console.
KERNEL = "[...window.jupyterapp.shell.widgets('main')].find(w => w.context?.path.endsWith('.ipynb')).sessionContext.session.kernel"

# Resolves when the kernel has answered every debug_request and nothing has been said to it
# or by it for half a second.
QUIET = f"""() => new Promise(done => {{
    const asked = new Set();
    let timer;
    const rest = () => {{ clearTimeout(timer); timer = setTimeout(() => asked.size ? rest() : done(), 500); }};
    {KERNEL}.anyMessage.connect((_, {{msg}}) => {{
        if (msg.header.msg_type === 'debug_request') asked.add(msg.header.msg_id);
        if (msg.header.msg_type === 'debug_reply') asked.delete(msg.parent_header.msg_id);
        rest();
    }});
    rest();
}})"""


class Notebook:
    """A notebook in JupyterLab whose kernel is being debugged."""

    def __init__(self, browser, lab, name, cells):
        url, work = lab
        nb = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "forge", "display_name": "Forge", "language": "go"}})
        nb.cells = [nbformat.v4.new_code_cell(code) for code in cells]
        nbformat.write(nb, work / "notebooks" / name)
        self.page = opened(browser, url, name)
        self.page.set_viewport_size({"width": 1600, "height": 1000})
        self.page.set_default_timeout(WAIT)
        self.attach()

    def attach(self):
        self.quiet()
        self.page.click(".jp-DebuggerBugButton:not([disabled]):not([aria-pressed='true'])")
        self.shows(".jp-DebuggerBugButton[aria-pressed='true']")
        self.quiet()

    def quiet(self):
        self.page.evaluate(QUIET)

    def shows(self, selector, text=""):
        """Waits for an element with a text, in which any space is one blank."""
        try:
            self.page.wait_for_function(
                "([s, w]) => [...document.querySelectorAll(s)].some(e => e.innerText.replace(/\\s+/g, ' ').includes(w))",
                arg=[selector, text],
            )
        except TimeoutError:
            self.photograph("failed")
            raise

    def lacks(self, selector):
        self.page.wait_for_function("s => !document.querySelector(s)", arg=selector)

    def command(self, name):
        self.page.evaluate("name => { window.jupyterapp.commands.execute(name) }", name)

    def press(self, name):
        """Clicks a button above the calls."""
        self.page.click(f"jp-button[data-command='debugger:{name}'][aria-disabled='false']")

    def breakpoint(self, cell, line):
        """Clicks in the margin and waits until the panel lists the breakpoint."""
        # The gutter's first element is no line.
        gutter = self.page.locator(CELL).nth(cell).locator(".cm-breakpoint-gutter .cm-gutterElement")
        gutter.nth(line).click()
        self.shows(".jp-DebuggerBreakpoint-line", str(line))
        self.quiet()

    def run_all(self):
        self.command("notebook:run-all-cells")

    def halted(self, line):
        """Waits until a line is the one where the program stands."""
        self.shows(HIGHLIGHT, line)
        self.shows(".jp-DebuggerPausedOverlay")
        self.quiet()

    def variables(self, *texts):
        for text in texts:
            self.shows(".jp-DebuggerVariables", text)

    def unfold(self, name):
        self.page.click(f".jp-DebuggerVariables-name:text-is('{name}')")

    def evaluates(self, code, answer):
        """Enters an expression in the debugger's console."""
        prompt = ".jp-DebugConsole .jp-CodeConsole-promptCell .cm-content"
        self.page.wait_for_selector(prompt)
        self.quiet()
        self.page.click(prompt)
        self.page.keyboard.insert_text(code)
        self.shows(prompt, code)
        self.page.keyboard.press("Shift+Enter")
        self.shows(".jp-DebugConsole .jp-OutputArea-output", answer)

    def output(self, text):
        self.shows(".jp-OutputArea-output", text)

    def idle(self):
        self.page.wait_for_function(f"() => {KERNEL}.status === 'idle'")
        self.lacks(HIGHLIGHT)

    def photograph(self, name):
        shots = ROOT / "build" / "screenshots"
        shots.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=shots / f"debugger-{name}.png")


AREA = "func area(w, h int) int {\n\ta := w * h\n\ta += 1\n\treturn a\n}"


def test_debugger(lab, browser):  # noqa: F811
    nb = Notebook(browser, lab, "debug.ipynb", [AREA, "n := 3\nn = area(n, 4)\nn"])
    nb.breakpoint(0, 3)
    nb.breakpoint(1, 2)
    nb.shows(".jp-DebuggerBreakpoint-source", "Cell [ ]")
    nb.run_all()
    nb.halted("n = area(n, 4)")
    nb.press("stepIn")
    nb.halted("a := w * h")
    nb.variables("w 3", "h 4")
    nb.press("next")
    nb.halted("a += 1")
    nb.shows(".jp-DebuggerCallstackFrame.selected", "area Cell [1]")
    nb.shows(".jp-DebuggerCallstackFrame", "cell 2 Cell [*]")
    nb.variables("a 12")
    nb.photograph("halted")
    nb.press("next")
    nb.halted("return a")
    nb.variables("a 13")
    nb.press("stepOut")
    nb.halted("n = area(n, 4)")
    nb.press("continue")
    nb.output("13")
    nb.idle()
    nb.quiet()
    nb.run_all()
    nb.halted("n = area(n, 4)")
    nb.press("terminate")
    nb.output("13")
    nb.idle()
    nb.shows(".jp-DebuggerBreakpoint-line", "3")
    nb.quiet()
    nb.page.click(".jp-DebuggerBugButton[aria-pressed='true']")
    nb.shows(".jp-DebuggerBugButton:not([aria-pressed='true'])")
    nb.lacks(".cm-breakpoint-gutter")
    nb.run_all()
    nb.idle()
    nb.page.close()


SHAPES = """type point struct {
	X, Y float64
}

func visit(at point, names []string, marks map[string]int) int {
	total := 0
	for _, name := range names {
		total += marks[name]
	}
	return total / int(at.Y)
}"""
GOROUTINE = """var wg sync.WaitGroup
wg.Go(func() {
	fmt.Println("sum", visit(point{1.5, 2}, []string{"a", "b"}, map[string]int{"a": 3, "b": 4}))
})
wg.Wait()"""


def test_goroutines_values_and_panics(lab, browser):  # noqa: F811
    """A goroutine halts in another cell's function, values unfold, expressions are
    computed, and a panic halts where it begins."""
    nb = Notebook(browser, lab, "values.ipynb", [SHAPES, GOROUTINE, "visit(point{}, nil, nil)"])
    nb.breakpoint(0, 8)
    nb.run_all()
    nb.halted("total += marks[name]")
    nb.shows(".jp-DebuggerCallstackFrame.selected", "visit Cell [1]:8")
    nb.variables("at point{X: 1.5, Y: 2}", 'names ["a", "b"]', 'marks map["a": 3, "b": 4]', "total 0", 'name "a"')
    nb.unfold("at")
    nb.variables("X 1.5 Y 2")
    nb.unfold("names")
    nb.variables('[0] "a" [1] "b"')
    nb.unfold("marks")
    nb.variables('"a" 3 "b" 4')
    nb.photograph("unfolded")
    nb.press("evaluate")
    nb.evaluates("len(names) + marks[name]", "5")
    nb.evaluates("point{at.Y, at.X}", "point{X: 2, Y: 1.5}")
    nb.evaluates("nosuch", "Evaluation resulted in an error")
    nb.photograph("console")
    nb.press("evaluate")
    nb.lacks(".jp-DebugConsole")
    nb.page.click(".jp-PauseOnExceptions")
    nb.page.click(".lm-Menu-itemLabel:text-is('panic')")
    nb.quiet()
    nb.press("continue")
    nb.quiet()
    nb.halted("total += marks[name]")
    nb.variables("total 3")
    nb.press("continue")
    nb.output("sum 3")
    nb.halted("return total / int(at.Y)")
    nb.variables("(panic) runtime error: integer divide by zero", "at point{X: 0, Y: 0}")
    nb.photograph("panic")
    nb.press("continue")
    nb.output("integer divide by zero")
    nb.idle()
    nb.page.close()


def test_restart_and_leave(lab, browser):  # noqa: F811
    """Breakpoints outlive the end of the process and a restart of the kernel, a halted
    cell outlives its page, and closing the notebook lets it go on."""
    url, _ = lab
    nb = Notebook(browser, lab, "restart.ipynb", [AREA, "os.Getpid()", "area(3, 4)"])
    nb.breakpoint(0, 3)
    nb.run_all()
    nb.halted("a += 1")
    os.kill(int(nb.page.inner_text(".jp-OutputArea-output")), signal.SIGKILL)
    nb.output("Killed")
    nb.idle()
    nb.lacks(".jp-DebuggerPausedOverlay")
    nb.quiet()
    nb.run_all()
    nb.halted("a += 1")
    nb.command("notebook:restart-kernel")
    nb.page.click(".jp-Dialog .jp-mod-accept")
    nb.lacks(HIGHLIGHT)
    nb.quiet()
    nb.shows(".jp-DebuggerBreakpoint-line", "3")
    nb.run_all()
    nb.halted("a += 1")
    nb.press("stepIn")
    nb.halted("return a")
    nb.page.reload()
    nb.halted("return a")
    nb.variables("a 13")
    nb.photograph("again")
    nb.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    nb.command("application:close")
    nb.lacks(CELL)
    deadline = time.monotonic() + START
    while state(url, "restart.ipynb") != "idle":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    nb.page.close()


def state(url, name):
    """What a notebook's kernel does, as the server knows."""
    sessions = json.load(urllib.request.urlopen(url + "/api/sessions"))
    return next(s["kernel"]["execution_state"] for s in sessions if s["path"].endswith(name))
