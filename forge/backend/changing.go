package backend

import "context"

// Noted is an [Executable] with something to say about what runs the whole program.
type Noted interface {
	// Notes are sentences, for a person.
	Notes() []string
}

// Changing is an [Executable] whose program may come to run in another form.
type Changing interface {
	// Current is the form that the next run takes.
	Current() Executable
	// Settle waits until the form does not change any more. The error says why it
	// is not the best one, or is the cause that ended ctx.
	Settle(ctx context.Context) error
}

// Notes are those of an executable, none if it has none.
func Notes(x Executable) []string {
	if n, ok := x.(Noted); ok {
		return n.Notes()
	}
	return nil
}

// Current is the form that the next run of an executable takes.
func Current(x Executable) Executable {
	if c, ok := x.(Changing); ok {
		return c.Current()
	}
	return x
}
