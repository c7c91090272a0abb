package writer

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"assetledger/server/httpserver"
	"assetledger/server/servertest"
	"assetledger/wal"
)

// A forgetfulLog stores nothing, so that a fuzz target can run for hours.
type forgetfulLog struct{ *ramLog }

func (forgetfulLog) Append(*wal.Frame) error { return nil }

func FuzzWriteRequest(f *testing.F) {
	w := startWriter(f, forgetfulLog{newRAMLog()}, func(c *Config) { c.IdempotencyKeys = 100 })
	w.post(200, "/v1/commit", servertest.OfEight)
	w.api.Gate = httpserver.NewGate("auth", servertest.Tenants(f), slog.New(slog.DiscardHandler))
	post := func(path, token, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, token, len(body), body)
	}
	for _, body := range []string{
		`{"operations":[{"op":"TransferFungible","args":{"from_container":8,"to_container":7,"class_id":1,"key":0,"quantity":5}}]}`,
		`{"operations":[{"op":"RemoveFungible","args":{"container_id":8,"class_id":1,"key":0,"quantity":99}}],"idempotency_key":"eight"}`,
		`{"operations":[{"op":"MintInstance","args":{"class_id":2}},{"op":"Attach","args":{"instance_id":{"minted":0},"parent_id":2}}]}`,
		`{"operations":[{"op":"RemoveFromSlot","args":{"container_id":77,"slot_index":0}},{"op":"PlaceInGrid","args":{"container_id":88,"instance_id":1}}]}`,
		`{"operations":[{"op":"SwapSlots","args":{"container_id":77,"slot_a":0,"slot_b":1,"other_container_id":88}},{"op":"BurnInstance","args":{"instance_id":2}}]}`,
		`{"transactions":[{"operations":[{"op":"RemoveContainer","args":{"container_id":8}}]},{"operations":[{"op":"AddFungible","args":{"container_id":7,"class_id":1,"key":0,"quantity":1}}]}]}`,
		strings.ReplaceAll(servertest.OfEight, "\n\t", ""),
	} {
		for _, path := range []string{"/v1/commit", "/v1/commit/batch", "/v1/commit/preflight", "/v1/register/class"} {
			f.Add(post(path, "s", body))
		}
	}
	f.Add("GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Request-Id: 1\r\n\r\n")
	f.Fuzz(func(t *testing.T, raw string) {
		rec := servertest.Answer(t, w.api, raw)
		if rec == nil {
			return
		}
		if strings.Contains(rec.Body.String(), servertest.Mark) && !strings.Contains(raw, "424242") {
			t.Fatalf("%q reveals what owner 8 has: %s", raw, rec.Body)
		}
		if a := servertest.Answer(t, w.api, post("/v1/commit/preflight", "a-long-secret", servertest.IsEights)); a.Code != 200 {
			t.Fatalf("%q touched what owner 8 has: %s\n%s", raw, rec.Body, a.Body)
		}
	})
}
