package shellguard

import (
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// deletes finds what takes a whole directory away.
func deletes(what place, why string) func(scene) string {
	return func(s scene) string { return s.deletes(what, why) }
}

func (s scene) deletes(what place, why string) string {
	var targets []string
	switch s.name {
	case "rm":
		if !s.has('r', "--recursive") && !s.has('R', "--recursive") {
			return ""
		}
		targets = s.operands("")
	case "mv":
		if all := s.operands("-t -S --target-directory --suffix"); len(all) > 1 {
			targets = slices.DeleteFunc(all[:len(all)-1], func(t string) bool {
				return what == workspace && strings.ContainsAny(t, "*?") // a new folder for everything
			})
		}
	case "find":
		targets = s.findTargets(what)
	case "rsync":
		all := s.operands("-e --rsh --exclude --include --filter -f")
		for _, a := range s.args {
			if strings.HasPrefix(a.text, "--del") && len(all) > 1 {
				targets = all[len(all)-1:]
			}
		}
	case "Remove-Item", "shred", "srm", "rimraf":
		targets = s.operands("")
	}
	for _, t := range targets {
		if at, full := s.walk.place(t, s.cwd); at == what {
			return strings.ReplaceAll(why, "%s", full)
		}
	}
	return ""
}

// findTargets are the directories that a find deletes in. One that looks for names
// in a home is let through.
func (s scene) findTargets(what place) []string {
	var roots []string
	deletes, filtered, operands := false, false, true
	for i, a := range s.args {
		t := a.text
		if strings.HasPrefix(t, "-") && len(t) > 2 || t == "(" || t == "!" {
			operands = false
		}
		switch {
		case operands && !strings.HasPrefix(t, "-"):
			roots = append(roots, t)
		case t == "-delete":
			deletes = true
		case strings.HasPrefix(t, "-exec") || strings.HasPrefix(t, "-ok"):
			if i+1 < len(s.args) && slices.Contains([]string{"rm", "/bin/rm", "shred", "unlink"}, s.args[i+1].text) {
				deletes = true
			}
		case slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-empty", "-mtime", "-mmin", "-atime", "-amin", "-ctime",
			"-cmin", "-size", "-newer", "-newermt", "-xtype", "-user", "-group", "-perm", "-inum", "-samefile", "-lname"}, t), t == "l" && i > 0 && s.args[i-1].text == "-type":
			filtered = true
		}
	}
	if s.next("xargs rm") {
		deletes = true
	}
	if !deletes || filtered && what != system {
		return nil
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	return roots
}

// next reports whether the next stage of the pipeline begins with words.
func (s scene) next(words string) bool {
	if s.stage+1 >= len(s.pipe) {
		return false
	}
	for _, c := range s.pipe[s.stage+1] {
		if strings.HasPrefix(c.source, words) {
			return true
		}
	}
	return false
}

func overwritesDisk(s scene) string {
	if f := s.writes(device.MatchString); f != "" {
		return "writes over " + f
	}
	tools := []string{"mke2fs", "wipefs", "blkdiscard", "mkswap", "sgdisk", "sfdisk", "fdisk", "gdisk", "cfdisk", "parted", "cryptsetup", "hdparm", "pvremove", "vgremove", "lvremove", "pvcreate", "shred", "newfs", "badblocks", "format"}
	if s.name == "diskutil" && len(s.args) > 0 && strings.HasPrefix(strings.ToLower(s.args[0].text), "erase") {
		return "erases a disk"
	}
	if !strings.HasPrefix(s.name, "mkfs") && !slices.Contains(tools, s.name) {
		return ""
	}
	for _, a := range s.args {
		if slices.Contains([]string{"-l", "--list", "-n", "--no-act", "--dry-run", "print", "-I", "-i", "-t", "-T", "status", "luksDump", "isLuks"}, a.text) && !strings.HasPrefix(s.name, "mkfs") {
			return ""
		}
	}
	for _, a := range s.args {
		if device.MatchString(a.text) {
			return "formats, partitions or erases " + a.text
		}
	}
	return ""
}

// loose matches a mode that lets everybody write, or nobody read.
var loose = lazyregexp.New(`^0?[0-7]?(777|666|776|767|000)$|^(a|o|ugo|go)?[+=]r?w[xXst]*$|^a-[rwx]+$`)

func sweepsPermissions(s scene) string {
	if !s.is("chmod", "chown", "chgrp", "setfacl", "chattr") {
		return ""
	}
	all := s.operands("-m -x")
	if len(all) == 0 {
		return ""
	}
	recursive := s.has('R', "--recursive")
	open := s.name == "chmod" && loose.MatchString(all[0])
	for i, t := range all {
		if i == 0 && s.name != "setfacl" {
			continue
		}
		at, full := s.walk.place(t, s.cwd)
		switch {
		case at == system && (recursive || open):
			return "changes the permissions of " + full
		case at == home && s.name == "chmod" && (recursive || open):
			return "changes the permissions of " + full
		case open && (isCredential(t) || strings.Contains(full, "/.ssh")):
			return "opens " + full + " to everybody"
		}
	}
	return ""
}

// trusted matches the files that decide who may do what.
var trusted = lazyregexp.New(`^/etc/(sudoers(\.d/.*)?|passwd|shadow|gshadow|group|pam\.d/.*|ld\.so\.preload|doas\.conf)$|(^|/)\.ssh/authorized_keys2?$`)

// setuid matches modes that make a program run as its owner.
var setuid = lazyregexp.New(`^0?[4567][0-7]{3}$|^(u|ug|a)?[+=][rwx]*s`)

func gainsPrivilege(s scene) string {
	if f := s.writes(trusted.MatchString); f != "" {
		return "writes to " + f
	}
	all := s.operands("-u -g -d -s -c")
	switch s.name {
	case "chmod":
		if len(all) > 1 && setuid.MatchString(all[0]) {
			at, _ := s.walk.place(all[1], s.cwd)
			if at == elsewhere {
				return "makes a program run as its owner"
			}
		}
	case "usermod", "gpasswd", "adduser", "addgroup", "useradd":
		for _, a := range s.args {
			if slices.Contains([]string{"sudo", "wheel", "root", "docker", "admin"}, a.text) {
				return "adds a user to the group " + a.text
			}
		}
		if s.name == "useradd" && s.has('o', "--non-unique") {
			return "makes a second root"
		}
	case "visudo", "chpasswd":
		if !s.has('c', "--check") {
			return "changes who may do what on this machine"
		}
	case "docker", "podman":
		for _, a := range s.args {
			v := strings.TrimPrefix(strings.TrimPrefix(a.text, "--volume="), "-v")
			if strings.HasPrefix(v, "/:/") || strings.Contains(v, "source=/,") || strings.Contains(v, "src=/,") {
				return "gives a container the whole machine"
			}
		}
	}
	return ""
}
