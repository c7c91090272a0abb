//go:build !linux

package httpserver

import "time"

// GiveUpAfter does nothing on systems without TCP_USER_TIMEOUT.
func (t *Tracked) GiveUpAfter(time.Duration) {}
