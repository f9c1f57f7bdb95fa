// SPDX-License-Identifier: Apache-2.0

package tasks

import "sync"

// Output is a value that a task learns when it is observed or applied (a VPC's ID)
// and that its dependents read. The zero Output is unknown. It is safe for
// concurrent use and must not be copied.
type Output[T comparable] struct {
	mu    sync.RWMutex
	known bool
	value T
}

// Set makes the value known.
func (o *Output[T]) Set(v T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.value, o.known = v, true
}

// Clear makes the value unknown again: a task that will be replaced calls it from
// Observe, so that its dependents plan with "(known after apply)".
func (o *Output[T]) Clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	var zero T
	o.value, o.known = zero, false
}

// Get returns the value and whether it is known.
func (o *Output[T]) Get() (T, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.value, o.known
}

// Value returns the value, or the zero value while it is unknown. In Apply the
// outputs of all dependencies are known.
func (o *Output[T]) Value() T {
	v, _ := o.Get()
	return v
}

// Plan returns the value for a plan's field: known, or "(known after apply)".
func (o *Output[T]) Plan() Value {
	v, ok := o.Get()
	if !ok {
		return After()
	}
	return V(v)
}
