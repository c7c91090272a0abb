package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// The bare server is net/http with the least work that a handler can do: it
// reads the body, and responds with fixed JSON about as long as the ledger's. It is
// what "bare" means in the table. It runs as a process of its own, with Go's default
// garbage collector settings instead of the daemons', unless GOGC is set. At
// /v1/durable it does the least work that a durable handler can do: it writes and syncs
// a block before it responds.

const (
	bareCommit   = `{"global_seq":1234567,"batch_seq":12,"minted_instances":[],"metadata":{}}`
	bareBalances = `{"container_id":1234,"balances":[{"class_id":1,"key":0,"quantity":1000000000000}],"freshness":{"checkpoint_seq":1234567,"commit_log_seq":1234567}}`
)

var bareBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// serveBare runs the bare server. /v1/durable writes to the named file of
// zeroes.
func serveBare(name string) {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/commit", func(w http.ResponseWriter, r *http.Request) {
		if bareRead(r) {
			bareAnswer(w, bareCommit)
		}
	})
	blocks := &blockWriter{file: file}
	mux.HandleFunc("POST /v1/durable", func(w http.ResponseWriter, r *http.Request) {
		if !bareRead(r) {
			return
		}
		if err := blocks.next(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		bareAnswer(w, bareCommit)
	})
	mux.HandleFunc("GET /v1/read/container/{id}/balances", func(w http.ResponseWriter, r *http.Request) {
		bareAnswer(w, bareBalances)
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("bare ready on http://%s\n", ln.Addr())
	http.Serve(ln, mux)
}

// bareRead reads the body, and reports whether that succeeded.
func bareRead(r *http.Request) bool {
	buf := bareBuffers.Get().(*[]byte)
	defer bareBuffers.Put(buf)
	for {
		if _, err := r.Body.Read(*buf); err == io.EOF {
			return true
		} else if err != nil {
			return false
		}
	}
}

func bareAnswer(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	io.WriteString(w, body)
}

// bare starts the bare server.
func (b *bench) bare() (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := zeroFile(filepath.Join(b.dir, fmt.Sprintf("bare-%d", len(b.started))), syncFile)
	if err != nil {
		return nil, err
	}
	file.Close()
	return b.start(true, self, "bare", file.Name())
}
