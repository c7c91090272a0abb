//go:build !linux

package httpserver

import "time"

// giveUpAfter does nothing where there is no TCP_USER_TIMEOUT.
func (t *tracked) giveUpAfter(time.Duration) {}
