package proc_test

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// int80 asks for the socketcall of the 32-bit kernel interface from this 64-bit
// program, with machine code of its own: mov eax,102; mov ebx,1; xor ecx,ecx;
// int 0x80; ret, with rbx saved. Where the kernel runs none it is a fault.
func int80() string {
	code, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err.Error()
	}
	copy(code, []byte{0x53, 0xb8, 102, 0, 0, 0, 0xbb, 1, 0, 0, 0, 0x31, 0xc9, 0xcd, 0x80, 0x5b, 0x48, 0x63, 0xc0, 0xc3})
	entry := &code[0]
	closure := &entry
	result := (*(*func() int)(unsafe.Pointer(&closure)))()
	if result < 0 {
		return unix.ErrnoName(unix.Errno(-result))
	}
	return "ok"
}
