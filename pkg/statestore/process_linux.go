// SPDX-License-Identifier: Apache-2.0

package statestore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// self returns the identity of this process.
func self() process {
	p := process{pid: os.Getpid()}
	p.start, _ = startTime(p.pid) // what cannot be read stays empty, and proves nothing
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		p.boot = strings.TrimSpace(string(boot))
	}
	// Containers on one machine share its boot but not its process numbers, nor always
	// its clock.
	pids, perr := os.Readlink("/proc/self/ns/pid")
	clock, terr := os.Readlink("/proc/self/ns/time")
	if perr == nil && (terr == nil || errors.Is(terr, os.ErrNotExist)) {
		p.space = pids + " " + clock
	}
	return p
}

// startTime returns when a process started, in clock ticks since boot.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the program's name in parentheses and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("read /proc/%d/stat: it has %d fields", pid, len(fields))
	}
	return fields[19], nil
}

// gone reports whether there is no process with that number and start. It asks the
// kernel first, since /proc may hide the processes of other users.
func gone(pid int, start string) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	now, err := startTime(pid)
	return err == nil && now != start
}
