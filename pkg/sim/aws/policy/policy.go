// SPDX-License-Identifier: Apache-2.0

// Package policy reads and evaluates AWS's policy language for the simulated AWS; its services keep policies with it, and its front door asks it whether a call is allowed.
package policy
