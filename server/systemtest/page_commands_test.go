package systemtest

import (
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// commands uses a shell to split the command lines that each view shows for its
// content. It compares the output of each ledgerctl command, except the one for the
// freshness, with the response at the URL of the curl command before it.
func (p *pageTest) commands(t *testing.T) {
	views := []string{"#/container/2001/history?instance=1&to=180", "#/container/3001?at=120", "#/container/tills%2F9", "#/containers?kind=Grid", "#/class/4/holders?key=7", "#/class/5/instances?container=2001", "#/commits?to=150"}
	for _, v := range pageViews {
		views = append(views, v.hash)
	}
	p.ledger.commit(`{"op":"CreateContainer","args":{"container_id":9600,"name":"tills/9","kind":"Standard"}}`)
	p.ledger.data("/v1/read/freshness")
	total := 0
	for _, hash := range views {
		p.goTo(hash)
		var lines []string
		p.eval(`[...document.querySelectorAll('.command code')].map((c) => c.textContent).filter((line) => !line.endsWith('/v1/status'))`, &lines) // the curl line for the status has no ledgerctl line beside it
		for i, line := range lines {
			words, err := exec.Command("sh", "-c", `printf '%s\n' `+line).Output()
			if err != nil {
				t.Fatalf("%s: %s: %v", hash, line, err)
			}
			args := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
			if i%2 == 0 {
				if args[0] != "curl" {
					t.Errorf("%s: %s does not begin with curl", hash, line)
				}
				continue
			}
			if args[1] == "health" {
				args = append(args, "-write-url", p.ledger.writer.url)
			}
			code, out, _ := runProgram(t, args[0], append(args[1:], "-o", "json")...)
			if code != 0 {
				t.Errorf("%s: %s exits with code %d, want 0", hash, line, code)
			}
			curl := strings.Trim(lines[i-1][strings.LastIndexByte(lines[i-1], ' ')+1:], "'")
			answer, err := http.Get(curl)
			if err != nil {
				t.Fatalf("%s: %v", lines[i-1], err)
			}
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if !strings.Contains(out, strings.TrimSpace(string(body))) && !strings.Contains(curl, "freshness") {
				t.Errorf("%s: curl and ledgerctl differ:\n%s\n%s\n%.400s\n%.400s", hash, lines[i-1], line, body, out)
			}
			total++
		}
	}
	if total < 20 {
		t.Errorf("only %d pairs of commands were compared, want at least 20", total)
	}
	p.goTo("#/class/4")
	p.eval(`void (document.querySelector('.commands').open = true)`, nil)
	p.click(`document.querySelector('.command button')`)
	same(t, "copied", p.text(`getSelection().toString()`), "curl -s "+p.ledger.reader.url+"/v1/read/class/4")
}
