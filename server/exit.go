package server

import (
	"errors"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpclient"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// Exit codes of the daemons.
const (
	ExitStopped = 0 // stopped on request
	ExitFailure = 1
	ExitUsage   = 2
	ExitDamaged = 3 // the log is damaged
	ExitLocked  = 4 // another write daemon owns the directory, or writes the log
)

// ExitCode returns the exit code of a daemon that ended with err. A nil err means that
// the daemon was stopped on request.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitStopped
	case httpserver.IsUsage(err), isSetting(err), errors.Is(err, ledger.ErrCheckpointWindow), errors.Is(err, wal.ErrSameDir):
		return ExitUsage
	case commitlog.IsDamage(err):
		return ExitDamaged
	case errors.Is(err, wal.ErrLocked):
		return ExitLocked
	}
	return ExitFailure
}

// isSetting reports whether err is an error in a setting for connections to
// other daemons.
func isSetting(err error) bool {
	_, bad := errors.AsType[*httpclient.SettingError](err)
	return bad
}
