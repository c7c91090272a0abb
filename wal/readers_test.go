package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestRegistry(t *testing.T) {
	dir := t.TempDir()
	if _, err := Register(filepath.Join(dir, "none"), "a", Options{}); err != ErrNoLog {
		t.Fatalf("got %v, want ErrNoLog", err)
	}
	mustOpen(t, dir, small())
	for _, bad := range []string{"", ".", "..", "a/b", "ä", "a b", string(make([]byte, 65))} {
		if _, err := Register(dir, bad, Options{}); err == nil {
			t.Errorf("name %q is accepted", bad)
		}
	}
	g, err := Register(dir, "read-1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Register(dir, "read-1", Options{}); !errors.Is(err, ErrNameTaken) {
		t.Fatalf("got %v, want ErrNameTaken", err)
	}
	h, err := Register(dir, "read-2", Options{})
	if err != nil {
		t.Fatal(err)
	}
	g.Applied(17)
	h.Applied(18)
	h.Close()
	list, err := ListReaders(dir, Options{})
	if err != nil || fmt.Sprint(list) != "[{read-1 17}]" {
		t.Fatalf("got %v, %v; want [{read-1 17}]", list, err)
	}
	if h, err = Register(dir, "read-2", Options{}); err != nil { // a name is free after Close
		t.Fatal(err)
	}
	h.Close()
	g.Close()
}

// TestManyDeadReaders registers a live reader whose name sorts after those of many dead
// readers. Killed pods may leave the files of such readers behind. There are more of them
// than ListReaders returns. It must list the live reader, and remove the files of the
// others.
func TestManyDeadReaders(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, small())
	g, err := Register(dir, "t", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	g.Applied(17)
	page, err := os.ReadFile(join(dir, readersDir, "t"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxReaders + 100 {
		if err := os.WriteFile(join(dir, readersDir, fmt.Sprintf("pod-%d", i)), page, fileMode); err != nil {
			t.Fatal(err)
		}
	}
	list, err := ListReaders(dir, Options{})
	if err != nil || fmt.Sprint(list) != "[{t 17}]" {
		t.Errorf("%d readers are listed, %v; want only {t 17}", len(list), err)
	}
	if names, err := (OS{}).List(join(dir, readersDir)); err != nil || fmt.Sprint(names) != "[t]" {
		t.Errorf("%d files are left, %v; want only t", len(names), err)
	}
}

// TestRegisterWhileListing registers readers while ListReaders removes the files of
// dead ones. The file of a reader must stay while the reader is attached.
func TestRegisterWhileListing(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, small())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				ListReaders(dir, Options{})
			}
		}
	}()
	for i := range 500 {
		os.WriteFile(join(dir, readersDir, "a"), nil, fileMode) // the file of a dead reader
		g, err := Register(dir, "a", Options{})
		if err != nil {
			t.Fatal(err)
		}
		g.Applied(uint64(i))
		if seq, err := readerSeq(OS{}, join(dir, readersDir, "a")); err != nil || seq != uint64(i) {
			t.Fatalf("round %d: the file of an attached reader has %d, %v", i, seq, err)
		}
		g.Close()
	}
	close(stop)
	<-done
}
