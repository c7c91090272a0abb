package server_test

import "testing"
import "os"

func TestShots(t *testing.T) {
	l := startPageLedger(t)
	l.warehouse()
	b := startBrowser(t)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for name, at := range map[string]string{"overview": "#/", "containers": "#/containers", "c1001": "#/container/1001", "c2001": "#/container/2001", "c3001": "#/container/3001", "classes": "#/classes", "class4": "#/class/4", "class7": "#/class/7", "instance": "#/instance/1", "commits": "#/commits", "commit": "#/commit/108", "none": "#/container/5"} {
			b.load(l.reader.url + "/" + at)
			os.WriteFile("/tmp/shots/"+name+"-"+scheme+".png", b.screenshot(), 0o644)
		}
	}
	t.Log(b.seen())
}
