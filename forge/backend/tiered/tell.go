package tiered

import (
	"context"
	"errors"
	"sync"

	"forgekernel/display"
	"forgekernel/forge/backend/cpu"
)

// HowToInstall says where a C compiler comes from.
const HowToInstall = "install one (apt-get install gcc, dnf install gcc, or apk add gcc musl-dev), or set FORGE_CC to its path"

// told holds the messages that this process has shown.
var told sync.Map

// tell shows why a program stays in its first form, once for each reason.
func tell(ctx context.Context, program string, err error) {
	d := &display.Diagnostic{
		Warning: true,
		Message: err.Error(),
		Hint:    "FORGE_CC chooses another compiler",
		Notes:   []string{program + " goes on in the form that it has"},
	}
	if errors.As(err, &cpu.NoCompiler{}) {
		d.Hint, d.Notes = HowToInstall, []string{"programs run on vector functions of Go, which are slower than C"}
	}
	Once(ctx, d)
}

// tellWrong says that the first form gave wrong results where the second does not.
func tellWrong(ctx context.Context, program, how string) {
	Once(ctx, &display.Diagnostic{
		Warning: true,
		Message: "results of " + program + " were wrong until now: " + how,
		Hint:    "run it again, and report this",
		Notes:   []string{"the program runs in another form from here on"},
	})
}

// Once shows a diagnostic through the sink of ctx, unless the process has shown one
// of the same message.
func Once(ctx context.Context, d *display.Diagnostic) {
	if _, before := told.LoadOrStore(d.Message, true); !before {
		_ = display.ShowContext(ctx, d) // a sink that is gone has nobody to tell
	}
}
