// Package servertest has helpers for the tests of several packages under server.
package servertest
