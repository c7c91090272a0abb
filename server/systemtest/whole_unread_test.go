package systemtest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// mostReadHeap is the limit on the read daemon's memory, in bytes, without the
// pages of the log that it has mapped.
const mostReadHeap = 256 << 20

// TestUnreadPages lets hundreds of clients request the largest pages and read
// nothing. The daemon's memory must stay below the limit, and other clients must be
// served.
func TestUnreadPages(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	const each = 6000
	one := `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":1,"quantity":1}}],"metadata":{"a":"` + strings.Repeat("x", each) + `"}}`
	bulk := `{"transactions":[` + strings.Repeat(one+",", 499) + one + `]}`
	for range 10 { // on a busy machine, one batch of 5,000 might take longer than the daemon's timeout
		if a, err := post(http.DefaultClient, v.w.url+"/v1/commit/batch", bulk); err != nil || a.status != 200 {
			t.Fatalf("a batch got %v %d, want 200", err, a.status)
		}
	}
	a, err := get(http.DefaultClient, v.r.url+"/v1/read/freshness?wait=20s&min_seq=5000")
	if err != nil || a.status != 200 {
		t.Fatalf("the read daemon did not reach commit 5000: %v %s", err, a.body)
	}
	const clients = 300
	most := int64(0)
	for i := range clients {
		c := v.dial(v.r)
		c.SetReadBuffer(4096)
		for range 3 { // the first response may fit in the buffers of the connection
			c.send(fmt.Sprintf("GET /v1/read/commits?limit=10000&after=%d HTTP/1.1\r\nHost: x\r\n\r\n", i%100))
		}
		most = max(most, statusBytes(t, v.r, "RssAnon"))
	}
	seen := v.acked.Load()
	awaits(v.T, "the well-behaved client continues", func() bool {
		most = max(most, statusBytes(t, v.r, "RssAnon"))
		return v.acked.Load() > seen+20
	})
	t.Logf("%d clients that do not read: at most %d MiB", clients, most>>20)
	if most > mostReadHeap {
		t.Errorf("the read daemon had %d bytes resident, more than %d", most, mostReadHeap)
	}
	awaits(v.T, "a page is served", func() bool { // on a busy machine, one may take longer than the daemon's timeout
		a, err := get(http.DefaultClient, v.r.url+"/v1/read/commits?limit=10000&after=1")
		return err == nil && a.status == 200 && strings.Contains(a.body, `"global_seq":2,`)
	})
	close(v.stop)
	<-v.ended
}
