package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// RepairOptions are the options of one run; the zero value is valid.
type RepairOptions struct {
	FS FS // default is the operating system's
	// Accept permits the changes. Without it, Repair only reports them.
	Accept bool
	// Checkpoint reads the checkpoint at seq of the log whose id is id, and returns its
	// place in the log. A *CorruptError means that the file is damaged, and a
	// *MismatchError that it belongs to another log. Any other error, except
	// fs.ErrNotExist, ends the run. If Checkpoint is nil, checkpoints are not read.
	Checkpoint func(seq uint64, id LogID) (Place, error)
}

// A RepairReport lists what a repair keeps, and what it loses or would lose.
type RepairReport struct {
	Needed  bool     // false if the log and its checkpoints are intact
	Reason  error    // the damage
	Kept    uint64   // last global_seq that is kept
	Lost    uint64   // number of global_seqs beyond Kept that are known to have been durable
	File    string   // the segment that will be the last
	Offset  int64    // offset at which that segment will end
	Bytes   int64    // number of bytes that will be zeroed there
	Foreign []string // files of checkpoints that belong to another log, or to another history of this log; they are in Moved too
	Moved   []string // files that are set aside; after the repair, their new names, which end in .bad
	Copy    string   // copy of the zeroed bytes; set after the repair
}

// Repair makes a log that Open rejects usable again, by ending it at its last valid
// frame. This may lose acknowledged commits. It also sets aside damaged checkpoints and
// those of another log. That loses no commits. It returns an error, and changes
// nothing, if no segment can be kept, or if segments are archived and no valid
// checkpoint would be left. Without o.Accept it changes nothing and reports what would
// be lost. It deletes nothing: it copies damaged bytes, and renames later segments and
// bad checkpoints. Readers of a log that was shortened get ErrReplaced. It returns
// ErrNoLog if there is no log. In that case, and whenever o.Accept is not set, it
// creates no LOCK.
//
// END is written last. So if a repair that moves END back is interrupted, Open still
// rejects the log. An interrupted repair can be repeated.
func Repair(dir string, o RepairOptions) (RepairReport, error) {
	p := repair{o: o, fs: Options{FS: o.FS}.withDefaults().FS, dir: dir}
	if err := CheckPresent(dir, Options{FS: o.FS}); err != nil {
		return RepairReport{}, err
	}
	if !o.Accept {
		return p.look()
	}
	lock, err := lockLog(p.fs, dir)
	if err != nil {
		return RepairReport{}, err
	}
	defer lock.Close()
	before, err := lock.boot()
	if err != nil {
		return RepairReport{}, err
	}
	if err := p.survey(); err != nil || !p.Needed {
		return p.RepairReport, err
	}
	return p.RepairReport, p.apply(before)
}

// look surveys the log without locking it, because locking it may create LOCK. It
// checks for a writer before and after, because the survey would report a frame that
// is being written as damage.
func (p *repair) look() (RepairReport, error) {
	if err := p.free(); err != nil {
		return RepairReport{}, err
	}
	err := p.survey()
	if locked := p.free(); locked != nil {
		return RepairReport{}, locked
	}
	return p.RepairReport, err
}

// free returns ErrLocked if a process has the log open for writing.
func (p *repair) free() error {
	locked, err := logLocked(p.fs, p.dir)
	if err == nil && locked {
		err = fmt.Errorf("%w (%s)", ErrLocked, join(p.dir, lockName))
	}
	return err
}

type repair struct {
	RepairReport
	o     RepairOptions
	fs    FS
	dir   string
	id    LogID
	ckpts []uint64 // ordered by global_seq; after badCheckpoints, only those that stay
	cut   bool     // the log must be shortened
	end   endState
	last  tail // where the log will end
}

// survey determines how much of the log is valid, and which checkpoints are.
func (p *repair) survey() error {
	report, err := Verify(p.dir, VerifyOptions{FS: lockedFS{p.fs}})
	if err != nil {
		damage, ok := errors.AsType[*CorruptError](err)
		if !ok || damage.Rule == ruleUnreadable {
			p.Reason = err
			return err // no log, or one that may still be readable: with a newer program, or from a copy on another disk
		}
		p.Reason = repairError{damage}
	}
	p.ckpts, err = listSeqs(p.fs, join(p.dir, ckptDir), ckptExt)
	if err != nil {
		return err
	}
	firsts, err := listSeqs(p.fs, segmentsPath(p.dir), segmentExt)
	if err != nil {
		return err
	}
	n := len(firsts)
	if p.id, p.Kept = report.ID, report.LastSeq; p.Reason != nil {
		p.cut = true
		if n, err = p.surveyLog(firsts); err != nil {
			return err
		}
	}
	bad, err := p.badCheckpoints()
	if err != nil {
		return err
	}
	p.Needed = p.Reason != nil
	if n == 0 || firsts[0] > 1 && p.Needed && !covered(p.ckpts, firsts[0], p.Kept) {
		return fmt.Errorf("wal: no segment of %s can be kept, or no checkpoint covers those that were archived; restore a backup: %w", p.dir, p.Reason)
	}
	p.Moved = append(p.Moved, bad...)
	return nil
}

// surveyLog walks the log up to its last valid frame, and returns the number of
// segments up to there.
func (p *repair) surveyLog(firsts []uint64) (n int, err error) {
	if p.end, err = readEnd(p.fs, p.dir); err != nil {
		return 0, err
	}
	p.end.settle()
	of, err := CopyOf(p.dir, Options{FS: p.fs})
	if err != nil {
		return 0, err
	}
	if n, err = p.walk(firsts, of != ""); err != nil || n == 0 {
		return n, err
	}
	if p.end.ID != p.last.seg.head.ID { // of another log, so it proves nothing
		p.end.Boot, p.end.durable = BootID{}, 0
	}
	p.id, p.Kept, p.File, p.Offset = p.last.seg.head.ID, p.last.last(), p.last.seg.path, p.last.at.off
	p.Bytes = p.last.strayEnd - p.Offset
	known := max(p.end.durable, p.last.traced)
	for _, first := range firsts[n:] {
		p.Moved = append(p.Moved, join(segmentsPath(p.dir), segmentName(first)))
		known = max(known, first-1)
	}
	for _, seq := range slices.Backward(p.ckpts) {
		foreign, err := p.foreign(seq)
		if err != nil {
			return 0, err
		}
		if !foreign {
			known = max(known, seq)
			break
		}
		p.Foreign = append(p.Foreign, CheckpointPath(p.dir, seq))
	}
	p.Lost = max(known, p.Kept) - p.Kept
	return n, nil
}

// badCheckpoints returns the files of the checkpoints that can't stay: those beyond
// the end, damaged ones, and those that match no frame of the log. The others stay
// in p.ckpts.
func (p *repair) badCheckpoints() (bad []string, err error) {
	h := endHeader{ID: p.id}
	r := newReader(p.dir, Options{FS: p.fs}.withDefaults(), h, fixedPage(h.Marshal(p.Kept)))
	defer r.Close()
	var good []uint64
	for _, seq := range p.ckpts {
		path := CheckpointPath(p.dir, seq)
		why := fmt.Errorf("the log ends at commit %d", p.Kept)
		if seq <= p.Kept {
			if why, err = p.judge(r, seq); err != nil {
				return nil, err
			}
		}
		if why == nil {
			good = append(good, seq)
			continue
		}
		if _, ok := errors.AsType[*MismatchError](why); ok {
			p.Foreign = append(p.Foreign, path)
		}
		if bad = append(bad, path); p.Reason == nil {
			damage, ok := errors.AsType[*CorruptError](why)
			if !ok {
				damage = &CorruptError{File: path, Seq: p.Kept, Rule: "checkpoint", Err: why}
			}
			p.Reason = repairError{damage}
		}
	}
	p.ckpts = good
	return bad, nil
}

// judge returns the reason why a checkpoint within the log is bad, or nil.
func (p *repair) judge(r *Reader, seq uint64) (why, err error) {
	if p.o.Checkpoint == nil {
		return nil, nil
	}
	place, err := p.o.Checkpoint(seq, p.id)
	if errors.Is(err, fs.ErrNotExist) { // a read daemon has written a newer one and removed this one
		return nil, nil
	}
	if err == nil {
		err = r.SeekAfter(place)
	}
	_, misfit := errors.AsType[*MismatchError](err)
	_, archived := errors.AsType[*ArchivedError](err)
	if misfit || archived {
		return err, nil
	}
	if damage, ok := errors.AsType[*CorruptError](err); ok && damage.Rule != ruleUnreadable {
		return err, nil
	}
	return nil, err
}

// foreign reports whether a checkpoint beyond the log has the id of another log, so
// that it is no evidence of lost commits.
func (p *repair) foreign(seq uint64) (bool, error) {
	if p.o.Checkpoint == nil || seq <= p.Kept {
		return false, nil
	}
	_, err := p.o.Checkpoint(seq, p.id)
	if _, ok := errors.AsType[*MismatchError](err); ok {
		return true, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return false, onlyDamage(err)
}

// covered reports whether there is a checkpoint at a commit from first to last. A log
// that lacks its first segment is useless without such a checkpoint.
func covered(ckpts []uint64, first, last uint64) bool {
	return slices.ContainsFunc(ckpts, func(seq uint64) bool { return seq >= first && seq <= last })
}

// walk sets p.last to the end of the valid part, and returns the number of segments in
// that part. The parameter copied is set if the directory is marked as a copy.
func (p *repair) walk(firsts []uint64, copied bool) (n int, err error) {
	var at cursor
	d := dirState{end: p.end, copy: copied}
	for i, first := range firsts {
		s := segmentFile{path: join(segmentsPath(p.dir), segmentName(first))}
		if s.head, err = checkSegment(p.fs, s.path, first); err != nil {
			return i, onlyDamage(err)
		}
		if i > 0 && checkLink(s.path, &s.head, p.last.seg.head.ID, p.last.seg.head.Ordinal, &at) != nil {
			return i, nil
		}
		t := tail{seg: s, group: d.group()}
		if d.end.ID != s.head.ID {
			d.end.durable = 0 // of another log
		}
		if err := t.read(p.fs, at, d.end.durable, 0); err != nil {
			return i, err
		}
		p.last, at = t, t.at
		if !t.sealed {
			return i + 1, nil
		}
	}
	return len(firsts), nil
}

// onlyDamage returns nil for damage, and any other error unchanged.
func onlyDamage(err error) error {
	if _, damage := errors.AsType[*CorruptError](err); damage {
		return nil
	}
	return err
}

// apply changes the disk. It begins with the copies, and ends with END. The parameter
// before is the boot in LOCK.
func (p *repair) apply(before BootID) error {
	if !p.cut {
		return p.setAside()
	}
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
	if err := p.setAside(); err != nil {
		return err
	}
	boot, err := p.fs.Boot()
	if err != nil {
		return err
	}
	if p.end.sameBoot(boot, before) { // frames that END does not cover may be only in the page cache
		if err := rewrite(file, p.last.doubt, p.Offset); err != nil {
			return err
		}
	}
	if err := zeroRange(file, p.Offset, p.last.strayEnd); err != nil {
		return err
	}
	h := endHeader{ID: p.id, Epoch: p.end.Epoch + 1}
	return makeEnd(p.fs, p.dir, &h, p.Kept)
}

// setAside durably renames the files in Moved, and stores their new names there.
func (p *repair) setAside() error {
	for i := len(p.Moved) - 1; i >= 0; i-- { // last first, so that the rest never has a gap
		name, err := freeBadName(p.fs, p.Moved[i])
		if err == nil {
			err = p.fs.Rename(p.Moved[i], name)
		}
		if err != nil {
			return err
		}
		p.Moved[i] = name
	}
	for _, d := range []string{segmentDir, ckptDir} {
		if err := p.fs.SyncDir(join(p.dir, d)); err != nil {
			return err
		}
	}
	return nil
}

// freeBadName returns an unused name for a file that is set aside: path with .bad
// appended, and a number before that if an earlier repair has used the name.
func freeBadName(fsys FS, path string) (string, error) {
	names, err := fsys.List(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	name := path + ".bad"
	for n := 1; slices.Contains(names, filepath.Base(name)); n++ {
		name = fmt.Sprintf("%s-%d.bad", path, n)
	}
	return name, nil
}

// lockedFS hides from Verify that this process itself holds the lock.
type lockedFS struct{ FS }

func (lockedFS) Locked(string) (bool, error) { return false, nil }
