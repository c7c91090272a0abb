//go:build !linux

package httpserver

import "time"

// GiveUpAfter does nothing where there is no TCP_USER_TIMEOUT.
func (t *Tracked) GiveUpAfter(time.Duration) {}
