package barerepo

import (
	"encoding/binary"
	"io/fs"
	"syscall"
)

const canStat = true

// appendStat adds what an index says of a file.
func appendStat(index []byte, info fs.FileInfo) []byte {
	s := info.Sys().(*syscall.Stat_t)
	mode := s.Mode &^ 0o777
	if s.Mode&syscall.S_IFMT == syscall.S_IFREG {
		mode |= 0o644 | s.Mode&0o100 | s.Mode&0o100>>3 | s.Mode&0o100>>6
	}
	for _, v := range []uint32{
		uint32(s.Ctim.Sec), uint32(s.Ctim.Nsec), uint32(s.Mtim.Sec), uint32(s.Mtim.Nsec),
		uint32(s.Dev), uint32(s.Ino), mode, s.Uid, s.Gid, uint32(s.Size),
	} {
		index = binary.BigEndian.AppendUint32(index, v)
	}
	return index
}
