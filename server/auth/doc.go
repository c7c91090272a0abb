// Package auth says who may do what: it reads the file that lists the clients
// of the ledger, finds the one that a request comes from, and edits the file.
//
// The file has one client's credential a line; words are separated by spaces:
//
//	# a comment
//	NAME sha256:HEX SCOPES                 a bearer token, by the SHA-256 of its text
//	NAME cert:HEX   SCOPES owners=7,9      a client certificate, by the SHA-256 of its DER bytes
//
//	NAME    1 to 64 of a-z A-Z 0-9 . _ - ; stored with every commit. Several lines may
//	        have one name, so that a token can be replaced without a pause.
//	HEX     64 lower-case hexadecimal digits; each in one line only.
//	SCOPES  commit, transfer, register, read, metrics, admin (which is all of them), with commas.
//	owners  limits the client to containers of these owners; not with admin.
//
// Every line ends with a line break, the last one too: else the file counts as
// cut short.
//
// The file holds no secret that would let anyone in, but it says who is let
// in: nobody but its owner should be able to write, or need to read it.
package auth
