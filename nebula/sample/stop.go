package sample

// Stop looks for stop strings in text that comes in parts, and holds back what may
// be the beginning of one. The text ends before the stop string that is complete
// first; of two that are complete at the same place the longer counts. What is
// found does not depend on how the text is cut into parts.
type Stop struct {
	stops []stopString
	held  []byte
	found string
}

// stopString is a stop string and its matching automaton (Knuth, Morris, Pratt).
type stopString struct {
	text  string
	back  []int // of a prefix: the longest shorter prefix that it ends in
	state int   // bytes that match
}

// NewStop watches for texts, none of which is empty: see [Params.Check].
func NewStop(texts []string) *Stop {
	s := &Stop{stops: make([]stopString, len(texts))}
	for i, text := range texts {
		back := make([]int, len(text)+1)
		back[0] = -1
		for n, k := 1, -1; n <= len(text); n++ {
			for k >= 0 && text[k] != text[n-1] {
				k = back[k]
			}
			k++
			back[n] = k
		}
		s.stops[i] = stopString{text: text, back: back}
	}
	return s
}

// step takes a byte and returns how many match.
func (p *stopString) step(c byte) int {
	for p.state >= 0 && (p.state == len(p.text) || p.text[p.state] != c) {
		p.state = p.back[p.state]
	}
	p.state++
	return p.state
}

// Write takes the next part of the text. It gives what is certainly before a stop
// string, and the stop string once one is found; from then on it gives nothing more.
func (s *Stop) Write(text string) (out, stop string) {
	if s.found != "" {
		return "", s.found
	}
	longest := 0
	for i := range len(text) {
		s.held = append(s.held, text[i])
		longest = 0
		for j := range s.stops {
			p := &s.stops[j]
			n := p.step(text[i])
			longest = max(longest, n)
			if n == len(p.text) && n > len(s.found) {
				s.found = p.text
			}
		}
		if s.found != "" {
			out = string(s.held[:len(s.held)-len(s.found)])
			s.held = nil
			return out, s.found
		}
	}
	if len(text) == 0 {
		return "", ""
	}
	give := len(s.held) - longest
	out = string(s.held[:give])
	s.held = append(s.held[:0], s.held[give:]...)
	return out, ""
}

// Flush ends the text and gives what was held back.
func (s *Stop) Flush() string {
	out := string(s.held)
	s.held = nil
	return out
}
