package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// installing is a script that runs in a mount namespace of its own, in which all
// writes to the root folder go to memory. Each line of its output is a fact to check.
const installing = `set -eu
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay none -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t proc none "$1/root/proc"
mount --bind /dev "$1/root/dev"
cp "$2" "$1/root/package.deb"
chroot "$1/root" sh -eu <<'INSIDE'
export DEBIAN_FRONTEND=noninteractive
quietly() { "$@" >/words 2>&1 || { cat /words >&2; exit 1; }; }
quietly dpkg -i /package.deb
echo "installed: $(dpkg-query -W -f '${Status}' asset-ledger)"
echo "user: $(getent passwd ledger | cut -d: -f1,6,7)"
echo "shadow: $(getent shadow ledger | cut -d: -f2 | cut -c1)"
echo "version: $(ledger-write -version)"
# What the unit's StateDirectory does, and a token for the user of the units.
install -d -o ledger -g ledger -m 0700 /var/lib/ledger
ledgerctl token new root -scopes admin -auth-file /etc/ledger/auth -to /token 2>/words
chown ledger: /etc/ledger/auth
ledgerctl token new again -scopes read -auth-file /etc/ledger/auth >/dev/null 2>/words
echo "auth file: $(stat -c '%U %a' /etc/ledger/auth)"
setpriv --reuid=ledger --regid=ledger --clear-groups --no-new-privs -- ledger-write -dir /var/lib/ledger/log -listen unix:/var/lib/ledger/write -auth-file /etc/ledger/auth >/ready 2>/words & daemon=$!
until [ -s /ready ] || ! kill -0 $daemon; do :; done
cat /ready
ledgerctl commit -write-url unix:/var/lib/ledger/write -token-file /token -op 'CreateContainer container_id=1 kind=Standard' -o json
kill $daemon
wait $daemon
echo "stopped: $?"
echo "wider than they should be: $(find /var/lib/ledger -perm /077)"
quietly dpkg --remove asset-ledger
echo "programs after removing: $(ls /usr/bin | grep -c ledger)"
echo "settings after removing: $(ls /etc/ledger/*.conf | wc -l)"
quietly dpkg --purge asset-ledger
echo "settings after purging: $(ls /etc/ledger/*.conf 2>/dev/null | wc -l)"
echo "ledger after purging: $(ls /var/lib/ledger/log | tr '\n' ' ')"
INSIDE
`

// checkInstalling installs the package with dpkg, runs the daemon as the user
// that the package creates, and removes the package.
func checkInstalling(t *testing.T, deb string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("installing was not tested: needs root")
		return
	}
	for _, name := range []string{"dpkg", "adduser", "unshare", "setpriv"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("installing was not tested: needs %s", name)
			return
		}
	}
	probe := exec.Command("unshare", "-m", "sh", "-c", `mount -t tmpfs none "$0" && mkdir "$0/u" "$0/w" "$0/r" && mount -t overlay none -o "lowerdir=/,upperdir=$0/u,workdir=$0/w" "$0/r"`, t.TempDir())
	if out, err := probe.CombinedOutput(); err != nil {
		t.Logf("installing was not tested: needs to mount an overlay on the root folder: %s", out)
		return
	}
	cmd := exec.Command("unshare", "-m", "sh", "-c", installing, "sh", t.TempDir(), deb)
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("the script failed: %v\n%s%s", err, out, words.String())
		return
	}
	_, build, _ := strings.Cut(string(out), "version: ledger-write ")
	build, _, _ = strings.Cut(build, "\n")
	if !strings.HasPrefix(build, "v1.2.3-test") {
		t.Errorf("the installed version is %q, want v1.2.3-test", build)
	}
	want := `installed: install ok installed
user: ledger:/var/lib/ledger:/usr/sbin/nologin
shadow: !
version: ledger-write ` + build + `
auth file: ledger 600
ledger-write ` + build + ` ready on unix:/var/lib/ledger/write
{"global_seq":1,"batch_seq":1,"minted_instances":[],"metadata":{}}
stopped: 0
wider than they should be: 
programs after removing: 0
settings after removing: 2
settings after purging: 0
ledger after purging: END LOCK ckpt readers wal 
`
	if string(out) != want {
		t.Errorf("installing printed\n%swant\n%s%s", out, want, words.String())
	}
	if left, _ := filepath.Glob("/etc/ledger/*"); left != nil {
		t.Log("this machine has settings of its own in /etc/ledger:", left) // they are visible inside
	}
}
