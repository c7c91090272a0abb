package writer

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// A pipeConn is a connection in memory that a daemon's entrance accepts.
type pipeConn struct{ net.Conn }

func (pipeConn) CloseWrite() error { return nil }

// TestReversalsOfGoneClientsDoNotWait checks that a reversal that waits to read its
// commit ends when its client disconnects.
func TestReversalsOfGoneClientsDoNotWait(t *testing.T) {
	for _, path := range []string{reversal(1), reversal(1) + "/preflight"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := DefaultConfig()
				c.Log = silent
				d := newDaemon(c, newRAMLog(), ledger.NewState(ledger.Config{IdempotencyKeys: 100}), func() { panic("exit") })
				defer d.seq().stop()
				listener := make(pipeListener)
				entrance, err := httpserver.OpenEntrance(httpserver.Access{Inherited: listener}, c.Listen, silent)
				if err != nil {
					t.Fatal(err)
				}
				door, err := entrance.Listen(c.Listen)
				if err != nil {
					t.Fatal(err)
				}
				srv := httpserver.NewServer(d.api, c.Timeouts, silent)
				defer srv.Close()
				defer close(listener)
				go srv.Serve(door)
				client, server := net.Pipe()
				defer client.Close()
				listener <- pipeConn{server}
				post := func(path, body string) {
					fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
				}
				post("/v1/commit", world)
				if resp, err := http.ReadResponse(bufio.NewReader(client), nil); err != nil || resp.StatusCode != 200 {
					t.Fatalf("the commit: %v, %v; want 200", resp, err)
				}
				d.readBacks <- struct{}{} // another reversal is reading
				post(path, "{}")
				synctest.Wait()
				if n := d.inflight.Load(); n != 1 {
					t.Fatalf("%d requests are in progress, want the reversal alone", n)
				}
				client.Close()
				synctest.Wait()
				if n := d.inflight.Load(); n != 0 {
					t.Error("the reversal still waits")
				}
				<-d.readBacks
				synctest.Wait()
			})
		})
	}
}
