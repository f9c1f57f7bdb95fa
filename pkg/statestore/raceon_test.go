// SPDX-License-Identifier: Apache-2.0

//go:build race

package statestore

// raceDetector says that this binary is many times slower than a user's.
const raceDetector = true
