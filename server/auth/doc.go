// Package auth defines what each client may do. It reads the file that lists the
// clients of the ledger, finds the client of a request, and edits the file.
//
// Each line of the file is one credential; its words are separated by spaces:
//
//	# a comment
//	NAME sha256:HEX SCOPES                 a bearer token, by the SHA-256 of its text
//	NAME cert:HEX   SCOPES owners=7,9      a client certificate, by the SHA-256 of its DER bytes
//
//	NAME    1 to 64 of a-z A-Z 0-9 . _ - ; stored with every commit. Several lines may
//	        have the same name, so that a token can be replaced without downtime.
//	HEX     64 lower-case hexadecimal digits; each hash on one line only.
//	SCOPES  commit, transfer, register, read, metrics, log, admin (which includes all others), separated by commas.
//	owners  limits the client to containers of these owners; not with admin.
//
// Every line ends with a line break, including the last one. A file whose last line has
// none counts as cut short.
//
// The file contains no secret that gives access to the ledger, but it decides who
// has access. Only its owner should be able to write it, and nobody else needs to
// read it.
package auth
