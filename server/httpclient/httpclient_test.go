package httpclient

import (
	"context"
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
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestRootsAreReadAgain checks that a client trusts the roots that its file has when
// it connects, so that roots can be replaced without restarting a daemon.
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
			t.Error("a server whose certificate is from an unknown authority is trusted")
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

// TestRootsChangeNoTimeout checks that the timeouts for a silent server are the
// same with a file of roots as without.
func TestRootsChangeNoTimeout(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	file := filepath.Join(t.TempDir(), "ca.crt")
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, root, 0o600); err != nil {
		t.Fatal(err)
	}
	const connects = 3 * time.Second
	for name, accepts := range map[string]bool{"a dead address": false, "a silent server": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var took []time.Duration
				for _, trust := range []Trust{{}, {CA: file}} {
					transport, err := trust.Transport("https://127.0.0.1:1", 1)
					if err != nil {
						t.Fatal(err)
					}
					transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
						time.Sleep(connects)
						if !accepts {
							return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
						}
						ours, theirs := net.Pipe()
						go io.Copy(io.Discard, theirs)
						return ours, nil
					}
					start := time.Now()
					if _, err := (&http.Client{Transport: transport}).Get("https://127.0.0.1:1"); err == nil {
						t.Fatal("a response without a server")
					}
					took = append(took, time.Since(start))
				}
				if took[0] != took[1] || took[0] < connects {
					t.Errorf("it takes %v without a file of roots, and %v with one", took[0], took[1])
				}
			})
		})
	}
}
