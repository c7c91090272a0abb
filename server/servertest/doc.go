// Package servertest has what the tests of more than one package of server need.
package servertest
