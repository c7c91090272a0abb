package mirror

import (
	"strings"
	"testing"

	"assetledger/server/httpclient"
)

// TestTrustIsNotDropped checks that root certificates and client certificates
// are not silently ignored if one of the URLs does not use TLS. They may be
// ignored for localhost and for Unix sockets.
func TestTrustIsNotDropped(t *testing.T) {
	roots, own := httpclient.Trust{Prefix: "from-", CA: "ca.crt"}, httpclient.Trust{Prefix: "from-", Cert: "c.crt", Key: "c.key"}
	for _, c := range []struct {
		from  string
		trust httpclient.Trust
		wrong string
	}{
		{"http://192.0.2.1:8080", httpclient.Trust{}, ""},
		{"https://192.0.2.1:8080,unix:/run/x,http://localhost:1,http://127.0.0.2:1,http://[::1]:1", roots, ""},
		{"https://192.0.2.1:8080", own, ""},
		{"http://192.0.2.1:8080", roots, "-from-ca"},
		{"https://192.0.2.1:8080,http://localhost.example:8080", roots, "http://localhost.example:8080"},
		{"http://[2001:db8::1]:8080", own, "-from-cert"},
	} {
		err := (&Config{From: c.from, Trust: c.trust}).Check()
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: got %v, want an error with %q, or none if that is empty", c.from, err, c.wrong)
		}
	}
}
