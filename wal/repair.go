package wal

import (
	"errors"
	"fmt"
	"slices"
)

// A RepairReport says what a repair keeps, and what it loses or would lose.
type RepairReport struct {
	Needed bool     // false: Open takes the log as it is
	Reason error    // why Open refuses it
	Kept   uint64   // last global_seq that is kept
	Lost   uint64   // global_seqs beyond it that are known to have been durable
	File   string   // the segment that will be the last
	Offset int64    // where it will end
	Bytes  int64    // bytes that will be zeroed there
	Moved  []string // files that are set aside, with ".bad" added to their names
	Copy   string   // where the zeroed bytes are kept; once it is done
}

// Repair makes a log that Open refuses usable again by ending it at its last
// good frame. This loses acknowledged commits. Without accept it changes
// nothing, and says what would be lost. Nothing is deleted: damaged bytes are
// copied, and later segments and checkpoints renamed. Readers of the log get
// ErrReplaced.
//
// A repair that is interrupted leaves a log that is refused, and can be done
// again: END is set back last.
func Repair(dir string, o Options, accept bool) (RepairReport, error) {
	o = o.withDefaults()
	lock, err := lockLog(o.FS, dir)
	if err != nil {
		return RepairReport{}, err
	}
	defer lock.Close()
	p := repair{fs: o.FS, dir: dir}
	if err := p.survey(); err != nil || !p.Needed || !accept {
		return p.RepairReport, err
	}
	return p.RepairReport, p.apply()
}

type repair struct {
	RepairReport
	fs   FS
	dir  string
	end  endState
	last tail // where the log will end
}

// survey walks over the log up to its last good frame.
func (p *repair) survey() error {
	_, p.Reason = Verify(p.dir, VerifyOptions{FS: lockedFS{p.fs}})
	if p.Reason == nil {
		return nil
	}
	var damage *CorruptError
	if !errors.As(p.Reason, &damage) || damage.Rule == ruleUnreadable {
		return p.Reason // no log, a newer version, or a disk that can't be read: another may have what this one does not give
	}
	p.Needed = true
	var err error
	if p.end, err = readEnd(p.fs, p.dir); err != nil {
		return err
	}
	p.end.settle()
	firsts, err := listSeqs(p.fs, segmentsPath(p.dir), segmentExt)
	if err != nil {
		return err
	}
	ckpts, err := listSeqs(p.fs, join(p.dir, ckptDir), ckptExt)
	if err != nil {
		return err
	}
	n, err := p.walk(firsts)
	if err != nil {
		return err
	}
	if n == 0 || firsts[0] > 1 && !covered(ckpts, firsts[0], p.last.last()) {
		return fmt.Errorf("wal: no segment of %s can be kept; restore a backup: %w", p.dir, p.Reason)
	}
	p.Kept, p.File, p.Offset = p.last.last(), p.last.seg.path, p.last.at.off
	p.Bytes = p.last.strayEnd - p.Offset
	for _, first := range firsts[n:] {
		p.Moved = append(p.Moved, join(segmentsPath(p.dir), segmentName(first)))
	}
	known := max(p.end.durable, p.last.traced)
	for _, seq := range ckpts {
		if seq > p.Kept {
			p.Moved = append(p.Moved, join(p.dir, ckptDir, fmt.Sprintf("%0*d%s", seqDigits, seq, ckptExt)))
			known = max(known, seq)
		}
	}
	if n < len(firsts) {
		known = max(known, firsts[len(firsts)-1]-1)
	}
	p.Lost = max(known, p.Kept) - p.Kept
	return nil
}

// covered says whether a checkpoint stands in the segments from first to last:
// without one, a log that begins late is of no use.
func covered(ckpts []uint64, first, last uint64) bool {
	return slices.ContainsFunc(ckpts, func(seq uint64) bool { return seq >= first && seq <= last })
}

// walk sets last to the end of the good part, and gives the number of segments
// in it.
func (p *repair) walk(firsts []uint64) (n int, err error) {
	var at cursor
	for i, first := range firsts {
		s := segmentFile{path: join(segmentsPath(p.dir), segmentName(first))}
		if s.head, err = checkSegment(p.fs, s.path, first); err != nil {
			return i, onlyDamage(err)
		}
		if i > 0 && checkLink(s.path, &s.head, p.last.seg.head.ID, p.last.seg.head.Ordinal, &at) != nil {
			return i, nil
		}
		t := tail{seg: s}
		if err := t.read(p.fs, at, 0, 0); err != nil {
			return i, err
		}
		p.last, at = t, t.at
		if !t.sealed {
			return i + 1, nil
		}
	}
	return len(firsts), nil
}

// onlyDamage is nil for damage, and the error for all else.
func onlyDamage(err error) error {
	var damage *CorruptError
	if errors.As(err, &damage) {
		return nil
	}
	return err
}

// apply changes the disk: copies first, END last.
func (p *repair) apply() error {
	file, err := p.fs.Open(p.File, true)
	if err != nil {
		return err
	}
	defer file.Close()
	if p.Bytes > 0 {
		if p.Copy, err = saveBad(p.fs, p.dir, "repair", &p.last, file); err != nil {
			return err
		}
	}
	for i := len(p.Moved) - 1; i >= 0; i-- { // the last first: what stays has no gap
		if err := p.fs.Rename(p.Moved[i], p.Moved[i]+".bad"); err != nil {
			return err
		}
	}
	for _, d := range []string{segmentDir, ckptDir} {
		if err := p.fs.SyncDir(join(p.dir, d)); err != nil {
			return err
		}
	}
	// What END did not cover may be in the page cache only.
	if err := rewrite(file, p.last.doubt, p.Offset); err != nil {
		return err
	}
	if err := zeroRange(file, p.Offset, p.last.strayEnd); err != nil {
		return err
	}
	h := endHeader{ID: p.last.seg.head.ID, Epoch: p.end.Epoch + 1}
	return makeEnd(p.fs, p.dir, &h, p.Kept)
}

// lockedFS hides that this process holds the lock itself.
type lockedFS struct{ FS }

func (lockedFS) Locked(string) (bool, error) { return false, nil }
