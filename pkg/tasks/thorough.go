// SPDX-License-Identifier: Apache-2.0

package tasks

import "context"

type thoroughKey struct{}

// WithThorough asks the tasks of a plan to read also what is read one object a call, and
// which a plan otherwise takes from a mark that was set with it.
func WithThorough(ctx context.Context) context.Context {
	return context.WithValue(ctx, thoroughKey{}, true)
}

// Thorough reports whether everything is to be read.
func Thorough(ctx context.Context) bool {
	thorough, _ := ctx.Value(thoroughKey{}).(bool)
	return thorough
}
