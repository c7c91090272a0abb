// Package client is a client for the asset ledger. It imports nothing but the standard library: import it, or copy the
// folder into your project. ledgerctl is built on it.
//
// A Client is made once and used by any number of goroutines:
//
//	New → Commit, Reverse, Preflight: one transaction
//	    → CommitAll: many, over one stream
//	    → Read, Items: reads that reflect the client's own commits
//	    → Feed: every commit, from a durable cursor on
//	Close
//
// Every method takes a context. Timeout bounds an attempt, GiveUp a call with all its attempts, and the context both.
//
// A call is repeated while there is no response, or its status is 500 or more, or it is a 425 because the read daemon is behind
// the client's own commit. The pauses grow exponentially, with jitter, and honour Retry-After, except that of a daemon that hands
// over to another one. Several URLs are tried in turn.
//
// The main invariant: all attempts of a call use the same idempotency key, so a retry never commits twice. If you give no
// key, the client chooses a random one. Give a key of your own and store it, such as with the order that is paid. Then you
// can also repeat the call after your program has crashed.
//
// A call fails in one of three ways. *Refused has the code and details of the ledger: nothing changed. *Unavailable: no
// daemon accepted the request, and nothing changed. *OutcomeUnknown: repeat the call with the same key.
//
// Integers are exact in both directions: those of Go are written as they are, and Read decodes into integers, or into
// json.Number where the type is any.
//
// Request, Try, Submit, CommitLines and the fields of FeedOptions are for tools such as ledgerctl, which decide themselves
// what to repeat and what to say about it.
package client
