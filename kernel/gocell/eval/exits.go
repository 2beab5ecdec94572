package eval

import (
	"errors"
	"flag"
	"reflect"
)

// Some compiled functions end the process. For a cell they end the cell.

// parseFlags is flag.Parse for the arguments of a cell.
func parseFlags(th *thread, _ []reflect.Value) []reflect.Value {
	args, _ := th.run.engine.args.Value().Interface().([]string)
	parseFlagSet(flag.CommandLine, args[min(1, len(args)):])
	return nil
}

// parseMethod is the Parse of a flag set.
func parseMethod(_ *thread, a []reflect.Value) []reflect.Value {
	args, _ := a[1].Interface().([]string)
	err := parseFlagSet(a[0].Interface().(*flag.FlagSet), args)
	return []reflect.Value{reflect.ValueOf(&err).Elem()}
}

// parseFlagSet parses as the set says, but leaves ending to the cell.
func parseFlagSet(set *flag.FlagSet, args []string) error {
	if set.ErrorHandling() != flag.ExitOnError {
		return set.Parse(args)
	}
	set.Init(set.Name(), flag.ContinueOnError)
	defer set.Init(set.Name(), flag.ExitOnError) // a flag.Value may panic
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		panic(Exit{"flag.Parse", 0})
	case err != nil:
		panic(Exit{"flag.Parse", 2})
	}
	return nil
}

// noTestMain refuses what would look for tests in this process and end it.
func noTestMain(*thread, []reflect.Value) []reflect.Value {
	panic(goError("testing.Main ends the process; call the tests instead"))
}
