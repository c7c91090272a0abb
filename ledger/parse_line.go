package ledger

// Reset empties b for ParseLine.
func (b *BatchRequest) Reset() {
	b.StopOnError, b.Txs, b.Errs = false, b.Txs[:0], b.Errs[:0]
	b.parser.ops, b.parser.arena = recycled(b.parser.ops, keepOps), recycled(b.parser.arena, keepBytes)
}

// ParseLine reads one line of a stream of commits, as ParseTransaction reads a body,
// and adds it to b. A line that is not a transaction fails alone; its error is in
// b.Errs. The transactions of b alias their lines, which must not change before Reset.
func (b *BatchRequest) ParseLine(line []byte, lim ParseLimits) {
	p := &b.parser
	ops, arena := p.ops, p.arena
	b.Txs = append(b.Txs, Transaction{})
	tx := &b.Txs[len(b.Txs)-1]
	if p.begin(line, lim) {
		p.ops, p.arena = ops, arena // those of earlier lines stay
		p.similar(tx, 1)
	}
	fault := p.finish()
	if fault != nil {
		*tx = Transaction{}
		p.ops = ops
	}
	b.Errs = append(b.Errs, fault)
}
