// SPDX-License-Identifier: Apache-2.0

// Package model turns a complete, valid spec into a Blueprint: what the cluster needs
// of any cloud. The operations in pkg/cluster build it; each cloud lowers it.
package model
