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
	if s.self.boot == "" || s.self.space == "" || holder.PID <= 0 || holder.Start == "" {
		return false
	}
	if holder.Boot != s.self.boot || holder.Space != s.self.space {
		return false
	}
	return gone(holder.PID, holder.Start)
}
