package httpserver

import (
	"net"
	"net/http"
	"os"
	"strings"

	"assetledger/ledger"
)

// A daemon that serves all clients on this machine also serves its browsers, and
// with them the pages of other sites. Browsers keep a page from sending JSON to
// another origin. But a page may come from a name of its own that suddenly
// resolves to this machine (DNS rebinding). The name reveals it: the browser
// sends it as Host, and a page can't change it.

// isForeignPage reports whether a request comes from a browser under a name that
// is not this machine's. This machine's names are localhost, names below
// localhost, the hostname, and IP addresses. A name without a dot is no safer
// than others: any machine on the local network can answer for it, and some
// top-level domains have addresses.
func isForeignPage(r *http.Request) bool {
	if r.Header["Origin"] == nil && r.Header["Accept-Language"] == nil && r.Header["Sec-Fetch-Site"] == nil {
		return false // browsers send the second with every request, and pages can't prevent it
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.HasPrefix(host, "[") {
		host = strings.TrimSuffix(host[1:], "]")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	own, _ := os.Hostname() // "" permits nothing more
	return host == "" || host != "localhost" && !strings.HasSuffix(host, ".localhost") && !strings.EqualFold(host, own) && net.ParseIP(host) == nil
}

var foreignPage = ledger.Errorf(ledger.Forbidden, "This ledger serves everyone on its own machine, and no page of another name: use its address, or say with -auth-file who may come in, or with -insecure that everyone may.").
	With(ledger.Text("reason", "host"))
