package systemtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestWalletServices uses the wallet service of each language, and then kills
// its write daemon. A request that is repeated during the outage must get its
// original response once there is a write daemon again.
func TestWalletServices(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, language string, run clientRun) {
		dir := t.TempDir()
		write := startWriteProcess(t, dir)
		read := startProcess(t, "ledger-read", "-dir", dir, "-name", "r")
		cmd := run("wallet", "--write", write.url, "--read", read.url, "--listen", "127.0.0.1:0")
		words := new(bytes.Buffer)
		cmd.Stderr = words
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		line, err := bufio.NewReader(out).ReadString('\n')
		late.Stop()
		_, url, ok := strings.Cut(strings.TrimSpace(line), " on ")
		if err != nil || !ok {
			t.Fatalf("the wallet service printed %q, want its URL\n%s", line, words)
		}
		for _, x := range walletExchanges {
			if got := askWallet(t, url, x.ask); got != x.want {
				t.Errorf("%s: %s, want %s", x.ask, got, x.want)
			}
		}
		write.kill()
		again := make(chan string, 1)
		go func() { again <- askWallet(t, url, walletExchanges[4].ask) }()
		startProcessAt(t, strings.TrimPrefix(write.url, "http://"), "ledger-write", "-dir", dir)
		if got := <-again; got != walletExchanges[4].want {
			t.Errorf("after a restart of the write daemon: %s, want %s", got, walletExchanges[4].want)
		}
	})
}

var walletExchanges = []struct{ ask, want string }{
	{`POST /users/ada {}`, `200 {"user":"ada","balance":"0.00"}`},
	{`POST /users/bo {}`, `200 {"user":"bo","balance":"0.00"}`},
	{`POST /users/ada/deposits {"id":"d1","amount":"12.50"}`, `200 {"id":"d1","commit":4}`},
	{`POST /users/ada/deposits {"id":"d1","amount":"12.50"}`, `200 {"id":"d1","commit":4}`},
	{`POST /payments {"id":"p1","from":"ada","to":"bo","amount":"5"}`, `200 {"id":"p1","commit":5}`},
	{`POST /payments {"id":"p1","from":"ada","to":"bo","amount":"6"}`, `409 {"error":"IdempotencyConflict"}`},
	{`POST /payments {"id":"p2","from":"ada","to":"bo","amount":"7.51"}`, `402 {"error":"not enough money"}`},
	{`POST /payments {"id":"p2","from":"ada","to":"cy","amount":"1.00"}`, `404 {"error":"no such user"}`},
	{`POST /payments {"id":"p2","from":"ada","to":"bo","amount":"1.001"}`, `400 -`},
	{`POST /payments {"id":"p2","from":"ada","to":"bo","amount":"-1"}`, `400 -`},
	{`POST /payments {"id":"p2","from":"ada","to":"bo","amount":1}`, `400 -`},
	{`POST /payments {"id":"p2"`, `400 -`},
	{`GET /users/ada`, `200 {"user":"ada","balance":"7.50"}`},
	{`GET /users/bo/history`, `200 {"user":"bo","entries":[{"commit":5,"at":"TIME","change":"5.00","balance":"5.00"}]}`},
	{`GET /users/cy`, `404 {"error":"no such user"}`},
	{`GET /elsewhere`, `404 {"error":"no such path"}`},
}

var isTime = regexp.MustCompile(`"at":"[^"]+Z"`)

// askWallet sends a request, and returns the status and the body without times. For
// status 400 it returns only the status, because each service has its own message.
func askWallet(t *testing.T, url, ask string) string {
	word := strings.SplitN(ask, " ", 3)
	req, err := http.NewRequest(word[0], url+word[1], nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	if len(word) == 3 {
		req.Body = io.NopCloser(strings.NewReader(word[2]))
		req.ContentLength = int64(len(word[2]))
	}
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	if res.StatusCode == 400 {
		return "400 -"
	}
	text := isTime.ReplaceAllString(string(body), `"at":"TIME"`)
	return fmt.Sprintf("%d %s", res.StatusCode, text)
}
