package cell

import (
	"fmt"
	"strings"
)

// flag is an option of a magic.
type flag struct {
	name   string   // without dashes
	value  string   // what its value is called; empty for a switch
	values []string // what the value may be a list of, for completion
	doc    string
}

// arguments are those of a magic, taken apart.
type arguments struct {
	flags map[string]string // a switch that is set is "true"
	rest  []string
}

// parseArgs takes the arguments of m apart. A flag is -name or --name, its
// value the next word or what follows an equals sign; -- ends the flags.
func (m *magic) parseArgs(text string) (arguments, error) {
	words, err := words(text)
	if err != nil {
		return arguments{}, err
	}
	a := arguments{flags: make(map[string]string)}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			a.rest = append(a.rest, words[i+1:]...)
			break
		}
		if len(w) < 2 || w[0] != '-' {
			a.rest = append(a.rest, w)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(w, "-"), "=")
		f := m.flag(name)
		switch {
		case f == nil:
			return a, fmt.Errorf("there is no flag %s%s", w, m.flagList())
		case f.value == "" && given:
			return a, fmt.Errorf("flag -%s takes no value", name)
		case f.value == "":
			value = "true"
		case !given:
			if i++; i == len(words) {
				return a, fmt.Errorf("flag -%s needs a value: %s", name, f.value)
			}
			value = words[i]
		}
		if _, twice := a.flags[name]; twice {
			return a, fmt.Errorf("flag -%s is given twice", name)
		}
		a.flags[name] = value
	}
	if n := len(a.rest); n < m.least || n > m.most {
		return a, fmt.Errorf("got %d arguments, want %s", n, m.signature())
	}
	return a, nil
}

func (m *magic) flag(name string) *flag {
	for i := range m.flags {
		if m.flags[i].name == name {
			return &m.flags[i]
		}
	}
	return nil
}

func (m *magic) flagList() string {
	if len(m.flags) == 0 {
		return "; it takes none"
	}
	var names []string
	for _, f := range m.flags {
		names = append(names, f.dashed())
	}
	return "; there are " + strings.Join(names, ", ")
}

// dashed is how the flag is usually written.
func (f flag) dashed() string {
	if len(f.name) == 1 {
		return "-" + f.name
	}
	return "--" + f.name
}

// words splits text at blanks. Quotes of either kind keep blanks together; in
// double quotes, and outside quotes, a backslash takes the next character as it
// is.
func words(text string) ([]string, error) {
	var list []string
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			inWord, quote = true, r
		case r == ' ' || r == '\t':
			if inWord {
				list = append(list, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if escaped {
		word.WriteRune('\\')
	}
	if inWord {
		list = append(list, word.String())
	}
	return list, nil
}
