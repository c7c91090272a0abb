package reader

import "testing"

// TestURL checks which address a mirror reports to its source.
func TestURL(t *testing.T) {
	for _, c := range []struct{ listen, cert, want string }{
		{"ledger-2:8081", "", "http://ledger-2:8081"},
		{"10.0.0.2:8081", "tls.crt", "https://10.0.0.2:8081"},
		{"[fd00::2]:8081", "", "http://[fd00::2]:8081"},
		{":8081", "", ""},
		{"0.0.0.0:8081", "", ""},
		{"[::]:8081", "", ""},
		{"ledger-2:0", "", ""},
		{"unix:/run/ledger.sock", "", ""},
	} {
		config := Config{Listen: c.listen}
		config.Access.TLSCert = c.cert
		if got := config.url(); got != c.want {
			t.Errorf("-listen %s with certificate %q: got the URL %q, want %q", c.listen, c.cert, got, c.want)
		}
	}
}
