package httpserver

import (
	"net"
	"net/http"
	"os"
	"strings"

	"assetledger/ledger"
)

// A daemon that serves all clients on this machine also serves its browsers, and
// so pages from other sites. Browsers prevent a page from sending JSON to
// another origin. But the name of the page's own origin may be changed to resolve
// to this machine (DNS rebinding). The name reveals that: the browser sends it as
// Host, and a page can't change it.

// isForeignPage reports whether a request comes from a browser that reached this
// machine under a foreign name. This machine's own names are localhost, names below
// localhost, the hostname, and IP addresses. A name without a dot is no safer than
// others: any machine on the local network can answer for it, and some top-level
// domains have addresses.
func isForeignPage(r *http.Request) bool {
	if r.Header["Origin"] == nil && r.Header["Accept-Language"] == nil && r.Header["Sec-Fetch-Site"] == nil {
		return false // browsers send Accept-Language with every request, and pages can't prevent that
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.HasPrefix(host, "[") {
		host = strings.TrimSuffix(host[1:], "]")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	own, _ := os.Hostname() // "" permits no more names
	return host == "" || host != "localhost" && !strings.HasSuffix(host, ".localhost") && !strings.EqualFold(host, own) && net.ParseIP(host) == nil
}

var foreignPage = ledger.Errorf(ledger.Forbidden, "This ledger serves all clients on its own machine, but no web page under another host name: use its address, configure clients with -auth-file, or accept everyone with -insecure.").
	With(ledger.Text("reason", "host"))
