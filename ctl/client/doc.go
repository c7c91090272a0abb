// Package client is a client for the asset ledger. It imports only the standard library, so you can import it or copy the
// folder into your project. ledgerctl is built on it.
//
// Create one Client, and use it from any number of goroutines:
//
//	New → Commit, Reverse, Preflight: one transaction
//	    → CommitAll: many, over one stream
//	    → Read, Items: reads that reflect the client's own commits
//	    → Feed: every commit after a durable cursor
//	Close
//
// Every method that sends requests takes a context. Timeout limits one attempt, GiveUp limits a call with all its attempts, and the context
// limits both. In CommitAll, GiveUp begins again with each outcome. Feed has neither limit: it replaces lost connections until
// its context is done.
//
// A call is retried if there is no response, if its status is 500 or more, or if it is 425 because the read daemon has not
// applied the client's own commit yet. The first four pauses are short. Then they grow exponentially, with jitter. They
// honor Retry-After, except from a daemon that hands over to another one. If there are several URLs, they are tried in
// turn.
//
// The main invariant: all attempts of a call use the same idempotency key, so a retry never commits twice. If you give no
// key, the client chooses a random one. Give a key of your own and store it, for example with the order being paid. Then
// you can also repeat the call after your program has crashed.
//
// There are three kinds of failure. *Refused has the code and details of the ledger: nothing changed. *Unavailable: no
// daemon accepted the request, and nothing changed. *OutcomeUnknown: repeat the call with the same key.
//
// Integers are exact in both directions. Go integers are written in full. Read decodes numbers into integer types, or into
// json.Number where the type is any.
//
// Request, Try, Submit, CommitLines, and the fields Within and Lost of FeedOptions, are for tools such as ledgerctl, which
// decide for themselves what to retry and what to report.
package client
