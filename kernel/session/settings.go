package session

import (
	"errors"

	"forgekernel/kernel/link"
)

// limits are the front's settings as package cell sees them.
type limits struct{ s *server }

func (l limits) Current() link.Settings { return *l.s.settings.Load() }

func (l limits) Change(change link.Settings) error {
	ack, err := l.s.calls.call(l.s.currentContext(), link.Config, l.s.currentCell(), change)
	if err != nil {
		return err
	}
	if len(ack.Body) > 0 {
		refusal, err := link.Decode[link.Refusal](ack)
		if err != nil {
			return err
		}
		return errors.New(refusal.Error)
	}
	l.s.adopt(change)
	return nil
}

// adopt notes the settings that change names.
func (s *server) adopt(change link.Settings) {
	for {
		old := s.settings.Load()
		now := *old
		if change.OutputLimit != nil {
			now.OutputLimit = change.OutputLimit
		}
		if change.MemoryLimit != nil {
			now.MemoryLimit = change.MemoryLimit
		}
		if s.settings.CompareAndSwap(old, &now) {
			return
		}
	}
}
