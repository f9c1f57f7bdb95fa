// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lockRetry is how long a process waits between two tries for the lock, which is held
// only while a file is compared and renamed.
const lockRetry = 2 * time.Millisecond

// locked runs do while no other goroutine or process replaces or deletes objects of
// the store. The kernel gives the lock back when its holder is killed.
func locked(ctx context.Context, root *os.Root, do func() error) error {
	f, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // releases the lock
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return do()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockRetry):
		}
	}
}
