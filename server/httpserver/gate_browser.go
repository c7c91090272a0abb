package httpserver

import (
	"net"
	"net/http"
	"os"
	"strings"

	"assetledger/ledger"
)

// A daemon that lets in everyone on this machine lets in its browsers, and with
// them the pages of others. The rules of the browser keep a page from sending
// JSON to another address than its own; so it may come from a name of its
// own that suddenly leads to this machine (DNS rebinding). That is seen by the
// name, which the browser sends as Host and a page can't change.

// isForeignPage reports whether a request is a browser's, for a name that is not
// this machine's. Its names are localhost, those below localhost, the hostname
// and IP addresses. A name without a dot is no safer than others: everyone on the
// local network can answer for it, and some top-level domains have addresses.
func isForeignPage(r *http.Request) bool {
	if r.Header["Origin"] == nil && r.Header["Accept-Language"] == nil && r.Header["Sec-Fetch-Site"] == nil {
		return false // browsers send the second with everything, and can't be told not to
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.HasPrefix(host, "[") {
		host = strings.TrimSuffix(host[1:], "]")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	own, _ := os.Hostname() // "" allows nothing more
	return host == "" || host != "localhost" && !strings.HasSuffix(host, ".localhost") && !strings.EqualFold(host, own) && net.ParseIP(host) == nil
}

var foreignPage = ledger.Errorf(ledger.Forbidden, "This ledger serves everyone on its own machine, and no page of another name: use its address, or say with -auth-file who may come in, or with -insecure that everyone may.").
	With(ledger.Text("reason", "host"))
