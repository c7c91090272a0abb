// Package servertest has helpers that the tests of several packages of server share.
package servertest
