package token

import (
	"errors"
	"fmt"
)

// templatePart is a place of a template: a token or the text.
type templatePart struct {
	SpecialToken *struct {
		ID string `json:"id"`
	}
	Sequence *struct {
		ID string `json:"id"`
	}
}

type templateIDs struct {
	IDs []int32 `json:"ids"`
}

// template sets the ids around a text.
func (s *stage) template(t *Tokenizer, depth int) error {
	if s == nil {
		return nil
	}
	switch s.Type {
	case "ByteLevel": // it trims offsets, which are not kept
		return nil
	case "Sequence":
		if depth == maxNesting {
			return errNesting
		}
		for _, p := range s.Processors {
			if err := p.template(t, depth+1); err != nil {
				return err
			}
		}
		return nil
	case "TemplateProcessing":
		return s.single(t)
	}
	return s.unsupported("Sequence, ByteLevel, TemplateProcessing")
}

func (s *stage) single(t *Tokenizer) error {
	var around [2][]int32
	texts := 0
	for _, p := range s.Single {
		switch {
		case p.Sequence != nil:
			texts++
		case p.SpecialToken == nil:
			return errors.New("the template has a part that is neither a Sequence nor a SpecialToken")
		default:
			special, ok := s.Special[p.SpecialToken.ID]
			if !ok {
				return fmt.Errorf("the template names %q, which special_tokens lacks", p.SpecialToken.ID)
			}
			for _, id := range special.IDs {
				if !t.has(id) {
					return fmt.Errorf("the template has the id %d, which the vocabulary lacks", id)
				}
			}
			side := &around[min(texts, 1)]
			*side = append(*side, special.IDs...)
		}
	}
	if texts != 1 {
		return fmt.Errorf("the template of one text has %d", texts)
	}
	t.prefix = append(around[0], t.prefix...)
	t.suffix = append(t.suffix, around[1]...)
	return nil
}
