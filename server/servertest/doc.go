// Package servertest holds what the tests of several packages of server share.
package servertest
