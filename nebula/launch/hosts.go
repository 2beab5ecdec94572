package launch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxHosts bounds what a list of hosts may expand to.
const maxHosts = 1 << 16

// expandHosts reads Slurm's lists of hosts, such as "n[10,20-22],login" and
// "rack[0-1]n[00-03]": numbers keep their width, brackets multiply.
func expandHosts(list string) ([]string, error) {
	var hosts []string
	for list != "" {
		end := elementEnd(list)
		more, err := expandElement(list[:end])
		if err != nil {
			return nil, err
		}
		if hosts = append(hosts, more...); len(hosts) > maxHosts {
			return nil, fmt.Errorf("more than %d hosts", maxHosts)
		}
		if end == len(list) {
			return hosts, nil
		}
		list = list[end+1:]
	}
	return nil, errors.New("a host is missing")
}

// elementEnd is the position of the first comma outside brackets.
func elementEnd(list string) int {
	depth := 0
	for i, c := range list {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(list)
}

// expandElement expands one name with any number of brackets.
func expandElement(name string) ([]string, error) {
	hosts := []string{""}
	for name != "" {
		text, rest, bracket := strings.Cut(name, "[")
		if strings.ContainsAny(text, "] \t\n") {
			return nil, fmt.Errorf("%q is not the name of a host", text)
		}
		choices := []string{""}
		if bracket {
			inner, after, closed := strings.Cut(rest, "]")
			if !closed {
				return nil, errors.New("a bracket is not closed")
			}
			var err error
			if choices, err = expandRanges(inner); err != nil {
				return nil, err
			}
			rest = after
		}
		if len(hosts)*len(choices) > maxHosts {
			return nil, fmt.Errorf("more than %d hosts", maxHosts)
		}
		next := make([]string, 0, len(hosts)*len(choices))
		for _, h := range hosts {
			for _, c := range choices {
				next = append(next, h+text+c)
			}
		}
		hosts, name = next, rest
	}
	if hosts[0] == "" {
		return nil, errors.New("a host is missing")
	}
	return hosts, nil
}

// expandRanges expands "10,20-22" to the numbers as text, with zeros in front
// where the first of a range has them.
func expandRanges(list string) ([]string, error) {
	var all []string
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.ParseUint(low, 10, 32)
		to, err2 := strconv.ParseUint(high, 10, 32)
		switch {
		case err1 != nil || err2 != nil || to < from:
			return nil, fmt.Errorf("%q is not a range of numbers", part)
		case to-from >= maxHosts-uint64(len(all)):
			return nil, fmt.Errorf("more than %d hosts", maxHosts)
		}
		for n := from; n <= to; n++ {
			all = append(all, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return all, nil
}
