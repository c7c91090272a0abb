package ledger

// appendTime appends the Unix second, 0..MaxTime, as RFC 3339 in UTC:
// 2026-11-21T22:31:02Z. It does not use package time, so that nothing in this
// package can read a clock.
func appendTime(dst []byte, second int64) []byte {
	year, month, day := civilDate(second / 86_400)
	clock := second % 86_400
	dst = appendPadded(dst, year, 1000)
	for _, part := range [...]struct {
		before byte
		n      int64
	}{{'-', month}, {'-', day}, {'T', clock / 3600}, {':', clock / 60 % 60}, {':', clock % 60}} {
		dst = appendPadded(append(dst, part.before), part.n, 10)
	}
	return append(dst, 'Z')
}

// civilDate returns the date of the day with the given number, counted from 0 for
// 1970-01-01. The number must be at least 0. civilDate calculates with years that begin
// in March, so that a leap day is the last day of its year.
func civilDate(days int64) (year, month, day int64) {
	const perEra, perCentury, perLeapCycle = 146_097, 36_524, 1_461 // days in 400, 100 and 4 years
	days += 719_468                                                 // since 0000-03-01
	era, inEra := days/perEra, days%perEra
	yearOfEra := (inEra - inEra/(perLeapCycle-1) + inEra/perCentury - inEra/(perEra-1)) / 365
	inYear := inEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	fromMarch := (5*inYear + 2) / 153
	year, month, day = era*400+yearOfEra, fromMarch+3, inYear-(153*fromMarch+2)/5+1
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

// appendPadded appends n, padded with zeros to as many digits as unit has. unit is a
// power of ten.
func appendPadded(dst []byte, n, unit int64) []byte {
	for ; unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+n/unit%10))
	}
	return dst
}
