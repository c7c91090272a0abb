package httpclient

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRootsAreReadAgain checks that a client trusts the roots that its file has when
// it connects, so that a daemon outlives a change of its roots.
func TestRootsAreReadAgain(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	other := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	stranger, err := x509.CreateCertificate(rand.Reader, other, other, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	trust := Trust{CA: filepath.Join(t.TempDir(), "ca.crt")}
	have := func(der []byte) {
		t.Helper()
		if err := os.WriteFile(trust.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have(stranger)
	client, url, err := trust.Client(server.URL, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	get := func() error {
		resp, err := client.Get(url)
		if err == nil {
			resp.Body.Close()
			client.CloseIdleConnections() // a connection keeps the roots that it began with
		}
		return err
	}
	unknown := func() {
		t.Helper()
		if _, refused := errors.AsType[*tls.CertificateVerificationError](get()); !refused {
			t.Error("the server of an unknown authority is trusted")
		}
	}
	unknown()
	have(server.Certificate().Raw)
	if err := get(); err != nil {
		t.Errorf("with the new roots: %v", err)
	}
	have(stranger)
	unknown()
}
