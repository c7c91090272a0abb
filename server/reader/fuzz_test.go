package reader

import (
	"log/slog"
	"strings"
	"testing"

	"assetledger/server/httpserver"
	"assetledger/server/servertest"
)

func FuzzReadRequest(f *testing.F) {
	log := newMemLog()
	l := newLedgerWriter(f, log)
	l.batch(servertest.OfEight)
	l.commit("RenameContainer container_id=8 name=eight", "RenameContainer container_id=88 name=eight/box",
		"HoldFungible hold_id=88 container_id=8 class_id=1 key=0 quantity="+servertest.Mark)
	r := startReader(f, log)
	r.api.Gate = httpserver.NewGate("auth", servertest.Tenants(f), slog.New(slog.DiscardHandler))
	for _, path := range []string{"container/8", "container/8/balances?class_id=1", "container/88/grid?x=0&y=0&width=1&height=1", "container/88/slots", "class/1/stats",
		"instance/2", "containers?owner=8&limit=1", "container/eight/holds", "container/%65ight%2Fbox", "hold/88", "containers?prefix=eight&limit=1", "containers?prefix=&cursor=AQhlaWdodA", "containers?kind=Grid&cursor=AQUAAAAAAAAABwAAAAAAAAAA", "commit/1", "commits?after=0", "freshness?min_seq=1&wait=1ms", "classes", "class/2/shapes", "class/1/holders?key=0", "class/2/instances?container_id=eight%2Fbox", "commits?order=newest&before=2", "commits?idempotency_key=eight"} {
		f.Add("GET /v1/read/" + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s\r\nAccept: text/event-stream\r\nIf-None-Match: \"a\"\r\n\r\n")
	}
	f.Add("HEAD /v1/metrics HTTP/1.1\r\nHost: x\r\nAuthorization: bearer s\r\n\r\n")
	f.Fuzz(func(t *testing.T, raw string) {
		rec := servertest.Answer(t, r.api, raw)
		if rec == nil {
			return
		}
		body := rec.Body.String()
		for _, secret := range []string{servertest.Mark, `"Standard","owner":8`, `"Grid","owner":8`, `"placements":[`, `"name":"eight","kind"`, `"name":"eight/box","kind"`} {
			if strings.Contains(body, secret) {
				t.Fatalf("%q shows what owner 8 has: %s", raw, body)
			}
		}
		if rec.Code == 200 && rec.Header().Get("ETag") != "" && !strings.Contains(raw, "Bearer") && !strings.Contains(strings.ToLower(raw), "bearer s") {
			t.Fatalf("%q was accepted: %s", raw, body)
		}
	})
}
