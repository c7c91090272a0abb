package history

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// build writes files for the commits that no file covers. It replays the log into
// a state of its own, from the nearest checkpoint before those commits, or from
// the beginning of the log. If the front of the log is archived and no checkpoint
// is early enough, the index begins at the oldest checkpoint.
func (x *Index) build(ctx context.Context, missing span) error {
	log, err := x.c.Source.Open()
	if err != nil {
		return err
	}
	defer log.Close()
	state, place, err := commitlog.RestoreNear(x.c.Source.Checkpoints(), log, 0, missing.first-1, math.MaxInt64)
	if err != nil {
		return err
	}
	x.Meter.Of.Store(missing.last)
	x.Meter.Done.Store(place.Seq)
	if place.Seq >= missing.first {
		return x.buildBase(state, place)
	}
	x.c.Log.Info("building the history index", "first_seq", missing.first, "last_seq", missing.last, "replaying_from", place.Seq+1)
	b := builder{x: x, log: log, state: state, missing: missing, place: place, told: time.Now()}
	return b.run(ctx)
}

// A builder replays the log for build.
type builder struct {
	x       *Index
	log     commitlog.Reader
	state   *ledger.State
	missing span
	place   wal.Place
	gen     *generation
	told    time.Time
}

func (b *builder) run(ctx context.Context) error {
	replay := commitlog.NewReplayer(b.state)
	for b.place.Seq < b.missing.last {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := b.log.Next()
		if err != nil {
			return err
		}
		if b.gen == nil && f.First >= b.missing.first {
			b.gen = newGeneration(b.place)
			b.gen.note(b.state, &b.x.spare)
		}
		if err := replay.ReplayFrame(f); err != nil {
			return err
		}
		b.place = f.Place()
		b.x.Meter.Done.Store(b.place.Seq)
		if b.gen != nil {
			b.gen.applied(f, f.Last())
			if b.gen.size() >= b.x.c.Generation || b.place.Seq >= b.missing.last {
				if err := b.write(); err != nil {
					return err
				}
			}
		}
		if now := time.Now(); now.Sub(b.told) >= commitlog.ProgressAfter {
			b.told = now
			b.x.c.Log.Info("building the history index", "at_seq", b.place.Seq, "last_seq", b.missing.last)
		}
	}
	return nil
}

// write writes the generation to a file.
func (b *builder) write() error {
	g := b.gen
	b.gen = newGeneration(g.end)
	b.gen.note(b.state, &b.x.spare)
	defer b.x.spare.give(g.blocks)
	b.x.writing.Lock()
	defer b.x.writing.Unlock()
	_, err := b.x.create(span{g.first, g.end.Seq}, func(out io.Writer) error {
		w := newWriter(out, b.x.id, g.first, g.before)
		g.write(w, g.first)
		return w.finish(g.end)
	})
	return err
}

// buildBase begins the index with the contents of all containers at a checkpoint.
func (x *Index) buildBase(state *ledger.State, place wal.Place) error {
	x.c.Log.Warn("the front of the log is archived: the history index begins at a checkpoint", "seq", place.Seq)
	x.writing.Lock()
	defer x.writing.Unlock()
	list, err := x.spans()
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.first <= place.Seq {
			if err := x.fsys.Remove(join(x.dir, s.name())); err != nil {
				return err
			}
		}
	}
	_, err = x.create(span{place.Seq, place.Seq}, func(out io.Writer) error {
		w := newWriter(out, x.id, place.Seq, 0)
		var entry []byte
		state.EachContainer(func(info *ledger.ContainerInfo, c *ledger.Change) {
			entry = appendEntry(entry[:0], info.UpdatedSeq, c)
			w.add(uint64(info.ID), entry)
		})
		state.EachContainer(func(info *ledger.ContainerInfo, c *ledger.Change) {
			if c.Kind == ledger.ContainerCreated {
				entry = appendEntry(entry[:0], info.UpdatedSeq, c)
				w.add(lifeKey(info.ID), entry)
			}
		})
		entry = binary.AppendUvarint(entry[:0], place.Seq)
		w.add(batchKey, binary.LittleEndian.AppendUint64(entry, uint64(place.Time)))
		return w.finish(place)
	})
	if err != nil {
		return fmt.Errorf("beginning the history index at commit %d: %w", place.Seq, err)
	}
	return nil
}
