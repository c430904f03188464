package locks

import (
	"bytes"
	"hash/crc32"
)

// The last field of a record is the CRC-32 of all that is before it, so that a
// reader without the guard knows a record that was being written over.
const (
	sumKey   = `,"sum":"`
	sumField = len(sumKey) + 8 + len(`"}`)
)

// seal puts the sum into a record that has none.
func seal(record []byte) []byte {
	body := record[:len(record)-1]
	sum := hexSum(body)
	record = append(body, sumKey...)
	return append(append(record, sum[:]...), '"', '}')
}

// sealed reports whether a record, without blanks around it, ends in a sum, and
// whether that is right.
func sealed(record []byte) (has, right bool) {
	n := len(record) - sumField
	if n < 0 || string(record[n:n+len(sumKey)]) != sumKey {
		return false, false
	}
	sum := hexSum(record[:n])
	return true, bytes.Equal(record[n+len(sumKey):n+len(sumKey)+8], sum[:])
}

func hexSum(body []byte) (text [8]byte) {
	const digits = "0123456789abcdef"
	sum := crc32.ChecksumIEEE(body)
	for i := range text {
		text[i] = digits[sum>>(28-4*i)&15]
	}
	return text
}
