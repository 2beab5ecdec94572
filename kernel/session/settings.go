package session

import "forgekernel/kernel/link"

// limits are the front's settings as package cell sees them.
type limits struct{ s *server }

func (l limits) Current() link.Settings { return *l.s.settings.Load() }

func (l limits) Change(change link.Settings) error {
	if _, err := l.s.calls.call(l.s.currentContext(), link.Config, l.s.currentCell(), change); err != nil {
		return err
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
