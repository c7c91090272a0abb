package server

import "time"

// DefaultReadConfig is what a read daemon is told unless a flag says otherwise.
func DefaultReadConfig() ReadConfig {
	return ReadConfig{
		Listen: "127.0.0.1:8081", Name: "read", Every: 1_000_000, Keys: 1_000_000, Poll: 100 * time.Millisecond,
		Timeouts: DefaultTimeouts, Page: true,
	}
}
