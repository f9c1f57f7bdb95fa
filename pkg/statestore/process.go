// SPDX-License-Identifier: Apache-2.0

package statestore

// process identifies a process over machines, reboots and reuse of its number. Empty
// fields mean that this system does not tell.
type process struct {
	pid                int
	start, boot, space string
}

// dead reports whether a lock's holder provably runs no more: it ran in this boot of
// this machine and in our namespaces, and there is no such process.
func (s *Store) dead(holder LockInfo) bool {
	return s.here(holder) && gone(holder.PID, holder.Start)
}

// Runs reports whether the holder of a lock is seen to run, on this machine.
func (s *Store) Runs(holder LockInfo) bool {
	return s.here(holder) && !gone(holder.PID, holder.Start)
}

// here reports whether a holder's process number and start say something here.
func (s *Store) here(holder LockInfo) bool {
	return s.self.boot != "" && s.self.space != "" && holder.PID > 0 && holder.Start != "" &&
		holder.Boot == s.self.boot && holder.Space == s.self.space
}
