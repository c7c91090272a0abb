package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"assetledger/server/servertest/longtest"
	"assetledger/wal/memfs"
)

// oneFile makes an index of one file, and returns the file's name and content.
func (w *world) oneFile(disk *memfs.Disk) (name string, whole []byte) {
	f := w.follow(New(w.config(disk.Process())), 0)
	f.apply(1000)
	f.Cut()
	if err := f.keep(w.t); err != nil {
		w.t.Fatal(err)
	}
	name = f.files[0].name
	f.Close()
	whole, err := disk.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return name, whole
}

// TestDamagedFiles changes each byte of a file. No response may be wrong: the
// damage is detected, and the file is rebuilt.
func TestDamagedFiles(t *testing.T) {
	w := newWorld(t, 3, 60)
	disk := newDisk(1)
	name, whole := w.oneFile(disk)
	step := 1
	if testing.Short() {
		step = 53
	} else if !longtest.Form(t, "seven of eight bytes that could be damaged") {
		step = 8
	}
	met := 0
	for at := 0; at < len(whole); at += step {
		bad := append([]byte(nil), whole...)
		bad[at] ^= 1 << (at % 8)
		if err := disk.WriteFile(name, bad); err != nil {
			t.Fatal(err)
		}
		met += w.useDamaged(disk, fmt.Sprintf("byte %d changed", at))
	}
	if met == 0 {
		t.Error("no damage was found while serving")
	}
}

// useDamaged reads each container as of the last commit of the file, and returns 1 if
// that detected damage, otherwise 0.
func (w *world) useDamaged(disk *memfs.Disk, what any) (met int) {
	x := w.follow(New(w.config(disk.Process())), 0)
	x.apply(1000)
	defer x.Close()
	if err := x.keep(w.t); err != nil {
		w.t.Fatalf("%v: maintaining the index: %v", what, err)
	}
	for _, id := range w.ids {
		v, err := x.View(id)
		if err != nil {
			w.t.Fatal(err)
		}
		s, err := v.At(x.files[0].last, noLimit)
		var notReady *NotReadyError
		if errors.As(err, &notReady) {
			met = 1
			if err := x.keep(w.t); err != nil {
				w.t.Fatalf("%v: rebuilding the file: %v", what, err)
			}
			if v, err = x.View(id); err == nil {
				s, err = v.At(x.files[0].last, noLimit)
			}
		}
		if err != nil {
			w.t.Fatalf("%v: reading the past: %v", what, err)
		}
		if got, want := dump(s, id), w.dumps[id][x.files[0].last]; got != want {
			w.t.Fatalf("%v: container %d:\n%s\nwant\n%s", what, id, got, want)
		}
		x.Reclaim(s)
	}
	return met
}

// TestOlderVersion checks that a file of version 2 or 3 is used as it is. The file has
// no payers and no carried entries, so it is valid in both versions.
func TestOlderVersion(t *testing.T) {
	defer func(n int) { carryAfter = n }(carryAfter)
	carryAfter = 1 << 20
	w := newWorld(t, 3, 60)
	disk := newDisk(1)
	name, whole := w.oneFile(disk)
	for v := byte(bareVersion); v < version; v++ {
		old := reheaded(whole, func(head []byte) { head[8] = v })
		if err := disk.WriteFile(name, old); err != nil {
			t.Fatal(err)
		}
		if w.useDamaged(disk, fmt.Sprint("version ", v)) != 0 {
			t.Errorf("the file of version %d was treated as damaged", v)
		}
		if now, err := disk.ReadFile(name); err != nil || string(now) != string(old) {
			t.Errorf("the file of version %d was rebuilt: %v", v, err)
		}
	}
}

// reheaded returns a file with a changed header and matching checksums.
func reheaded(whole []byte, change func(head []byte)) []byte {
	b := append([]byte(nil), whole...)
	change(b)
	binary.LittleEndian.PutUint32(b[60:], checksum(b[:60]))
	foot := b[len(b)-footerBytes:]
	binary.LittleEndian.PutUint32(foot[92:], footerCRC(b[:headerBytes], foot))
	return b
}

// TestUnfitFiles checks that valid files of another version, log or range are rebuilt,
// and so are files that are truncated, are too long or hold only zeros. None of their
// content is served.
func TestUnfitFiles(t *testing.T) {
	w := newWorld(t, 3, 60)
	disk := newDisk(1)
	name, whole := w.oneFile(disk)
	headed := func(change func(head []byte)) []byte { return reheaded(whole, change) }
	if string(headed(func([]byte) {})) != string(whole) {
		t.Fatal("the checksums are computed differently")
	}
	other := newWorld(t, 4, 60)
	_, foreign := other.oneFile(newDisk(2))
	unfit := map[string][]byte{
		"a future version":     headed(func(h []byte) { h[8] = version + 1 }),
		"the first version":    headed(func(h []byte) { h[8] = 1 }),
		"another ledger's":     headed(func(h []byte) { h[12]++ }),
		"of other commits":     headed(func(h []byte) { h[28]++ }),
		"after another frame":  headed(func(h []byte) { h[36]++ }),
		"of another log's end": foreign,
		"with bytes after it":  append(append([]byte(nil), whole...), 0),
		"twice":                append(append([]byte(nil), whole...), whole...),
		"with zeros in front":  append(make([]byte, 4096), whole...),
		"of zeros":             make([]byte, len(whole)),
	}
	step := 1
	if testing.Short() {
		step = 211
	} else if !longtest.Form(t, "most lengths of a truncated file") {
		step = 29
	}
	for n := 0; n < len(whole); n += step {
		unfit[fmt.Sprintf("cut to %d bytes", n)] = whole[:n]
	}
	for what, b := range unfit {
		if err := disk.WriteFile(name, b); err != nil {
			t.Fatal(err)
		}
		w.useDamaged(disk, what)
		if now, err := disk.ReadFile(name); err == nil && string(now) == string(b) {
			t.Errorf("%s: the file is still there, want it rebuilt", what)
		}
	}
	// Under another name.
	for _, s := range []span{{1, w.state.Seq() - 1}, {2, w.state.Seq()}, {1, w.state.Seq() + 5}} {
		if err := errors.Join(disk.WriteFile(join("/log/history", s.name()), whole), disk.RemoveFile(name)); err != nil {
			t.Fatal(err)
		}
		w.useDamaged(disk, "under the name "+s.name())
	}
}
