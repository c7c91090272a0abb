// Package server runs the two daemons of a ledger. The programs of the daemons
// import it for NewProgram and Main, and ledgerctl imports it for RunWrite, RunRead and
// SignalContext. The daemons are in packages of their own. The main packages are:
//
//	server               runs either daemon, and turns its error into an exit code
//	server/writer        the write daemon: judges transactions and makes them durable
//	server/reader        the read daemon: follows the log and answers reads
//	server/httpserver    HTTP for both: access, limits, routes, errors, request metrics
//	server/commitlog     what a daemon requires of a log; the driver "file"; replay;
//	                     below it etcdlog, the driver "etcd"; memlog, a driver for tests;
//	                     and logtest, which tests drivers
//	server/logstream     serves the log to other machines
//	server/mirror        fills a directory with the log of another machine
//	server/sim           simulates both daemons in one goroutine, from one seed
//	server/systemtest    tests of the built programs, their documentation and the web page
//
// A package imports only packages below it: server → {writer, reader} → mirror →
// logstream → {httpserver, commitlog} → {ledger, wal}. The writer and the reader
// share nothing but the log. docs/architecture.md lists all packages.
//
// # The life of one commit
//
//	client ─ net/http ─ httpserver: gate, exchange ─ ledger: parse ─ writer: intake ═ sequencer ─ ledger: judge, record ─ batch ═ syncer ─ wal: write, fdatasync, END
//	                                                                                                                          ╚═ group done ═ response
//	END ═ futex ═ reader: tailer ─ wal: next frame ─ projection ─ ledger: replay ═ waiters ─ httpserver: exchange ─ response
//
// A single line is a call. A double line passes work to another goroutine.
//
// # Glossary
//
//	exchange    one HTTP request and its response (httpserver)
//	gate        authenticates and authorizes the client of a request (httpserver)
//	entrance    the access settings, auth file and certificates for a daemon's clients (httpserver)
//	claim       the memory that one request holds; the budget limits the sum of all claims (httpserver)
//	request     one transaction, a batch request or a block of a stream, and the verdicts on it (writer)
//	verdict     the result of one transaction, or why it was rejected (writer)
//	group       requests that are answered together (writer)
//	intake      the bounded queue of groups before the sequencer (writer)
//	record      one commit as bytes in the log (ledger)
//	batch       the records that one sync makes durable (writer)
//	frame       a batch as the log stores it (wal)
//	settle      to report a batch's outcome to all groups that wait for it (writer)
//	END         the file that holds the number of the last durable commit (wal)
//	tailer      the goroutine that follows the log (reader)
//	projection  the state that reads see (reader)
//	reading     one read in progress (reader)
//	freshness   the last commit of the projection, and the requests that wait for a later one (reader)
//	checkpoint  the state in a file, from which a daemon starts (ledger, reader)
//	replay      applying the log's records to a state (commitlog)
package server
