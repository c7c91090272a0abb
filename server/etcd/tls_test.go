package etcd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"assetledger/server/etcd"
	"assetledger/server/etcd/etcdtest"
)

// TestTLS checks that an etcd that requires client certificates serves only clients
// that have one, and that a client rejects a server whose certificate it can't verify.
func TestTLS(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("needs etcd: install Debian's etcd-server")
	}
	dir := t.TempDir()
	cert, roots := certificate(t, dir)
	_, strangers := certificate(t, t.TempDir())
	address := etcdtest.FreeAddress(t)
	crt, key := filepath.Join(dir, "crt"), filepath.Join(dir, "key")
	cmd := exec.Command(program, "--data-dir", filepath.Join(dir, "data"), "--logger", "zap", "--listen-client-urls", "https://"+address, "--advertise-client-urls", "https://"+address,
		"--listen-peer-urls", "http://127.0.0.1:0", "--cert-file", crt, "--key-file", key, "--client-cert-auth", "--trusted-ca-file", crt)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })

	client := func(conf *tls.Config) *etcd.Client {
		c := etcd.NewClient(etcd.Config{Endpoints: []string{address}, TLS: conf})
		t.Cleanup(c.Close)
		return c
	}
	known := client(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}})
	for end := time.Now().Add(time.Minute); ; {
		if _, err = known.Range(t.Context(), "a", "", 0); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if s, err := known.Status(t.Context()); err != nil || s.Quota == 0 {
		t.Errorf("Status: got %+v, %v; want a quota", s, err)
	}
	for who, conf := range map[string]*tls.Config{
		"without a certificate":  {RootCAs: roots},
		"that trusts another CA": {RootCAs: strangers, Certificates: []tls.Certificate{cert}},
		"in plain text":          nil,
	} {
		if _, err := client(conf).Range(t.Context(), "a", "", 0); err == nil {
			t.Errorf("a client %s is served", who)
		}
	}
}

// certificate returns a self-signed certificate, and writes it to files in dir.
func certificate(t *testing.T, dir string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "ledger"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(err)
	secret, err := x509.MarshalECPrivateKey(key)
	must(err)
	certPEM, keyPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	must(os.WriteFile(filepath.Join(dir, "crt"), certPEM, 0o600))
	must(os.WriteFile(filepath.Join(dir, "key"), keyPEM, 0o600))
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return pair, pool
}
