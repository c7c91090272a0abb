package ctl

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestManySlotsAreListed checks that occupied slots are drawn up to the
// maximum, and that one more makes a list.
func TestManySlotsAreListed(t *testing.T) {
	for n, want := range map[int]string{mostDrawn: "300 slots, 256 occupied", mostDrawn + 1: "SLOT_INDEX"} {
		var slots []string
		for i := range n {
			slots = append(slots, fmt.Sprintf(`{"slot_index":%d,"instance_id":%d,"class_id":1,"key":0}`, i, i+1))
		}
		daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/class/") {
				io.WriteString(w, `{"data":{"class_id":1,"name":"sword","fungible":false}}`)
				return
			}
			fmt.Fprintf(w, `{"data":{"container_id":1,"slot_count":300,"slots":[%s]}}`, strings.Join(slots, ","))
		}))
		var stdout, stderr bytes.Buffer
		code := Main([]string{"read", "slots", "1", "-read-url", daemon.URL}, nil, &stdout, &stderr, func(string) (string, bool) { return "", false })
		daemon.Close()
		if code != exitDone || !strings.Contains(stdout.String(), want) || strings.Count(stdout.String(), "sword") != n {
			t.Errorf("of %d slots, exit code %d: %s\n%s", n, code, &stderr, &stdout)
		}
	}
}
