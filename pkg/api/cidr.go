// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Want is one range to allocate.
type Want struct {
	Name string     // for messages: the subnet's name
	Kind SubnetType // utility ranges are an eighth of the others
	Bits int        // a prefix length that must be met; 0 sizes by kind and number
}

// floorBits is the smallest range: 16 addresses, the smallest subnet that clouds take.
const floorBits = 28

// utilityBits is by how much utility ranges are smaller than the others.
const utilityBits = 3

// Allocate finds ranges inside network, in its gaps between taken, one for each want
// and in that order. It is deterministic, never overlaps, and leaves room: the network
// is thought of as cut in at least four equal parts, and in a power of two that is
// larger than the number of public and private wants, so that one part stays free. Of
// that free part utility ranges take an eighth each. In a /16 three zones get a /18
// each and, in private topology, a /21 each for utility; a fourth zone later gets a
// /19. Where that does not fit, all sizes are halved together, down to a /28.
//
// The error names the first want that does not fit at the smallest size.
func Allocate(network, taken []netip.Prefix, want []Want) ([]netip.Prefix, error) {
	if len(want) == 0 {
		return nil, nil
	}
	for _, p := range network {
		if !p.Addr().Is4() {
			return nil, fmt.Errorf("allocate subnets: %s: only IPv4 networks are cut", p)
		}
	}
	if len(network) == 0 {
		return nil, fmt.Errorf("allocate %s: no network range is known", want[0].Name)
	}
	order := biggestFirst(want)
	for size := startBits(network, want); ; size++ {
		out, missing := place(network, taken, want, order, size)
		if missing < 0 {
			return out, nil
		}
		if size >= floorBits {
			w := want[missing]
			return nil, fmt.Errorf("no free /%d for %s in %s%s: use a larger network, fewer zones, or give CIDRs",
				bitsOf(w, size), w.Name, list(network), takenText(taken))
		}
	}
}

// Usable is how many machines a range can address when the cloud keeps reserved
// addresses of each subnet for itself.
func Usable(p netip.Prefix, reserved int) int {
	hostBits := min(p.Addr().BitLen()-p.Bits(), 30)
	return max(1<<hostBits-reserved, 0)
}

// startBits is the size that public and private ranges are first tried at.
func startBits(network []netip.Prefix, want []Want) int {
	parts, mains := 4, 0
	for _, w := range want {
		if w.Bits == 0 && w.Kind != SubnetUtility {
			mains++
		}
	}
	for parts <= mains {
		parts *= 2
	}
	widest := slices.MinFunc(network, func(a, b netip.Prefix) int { return cmp.Compare(a.Bits(), b.Bits()) })
	bits := widest.Bits()
	for ; parts > 1; parts /= 2 {
		bits++
	}
	return min(bits, floorBits)
}

func bitsOf(w Want, size int) int {
	switch {
	case w.Bits != 0:
		return w.Bits
	case w.Kind == SubnetUtility:
		return min(size+utilityBits, floorBits)
	default:
		return size
	}
}

// biggestFirst is the order to place wants in: large ranges before small ones, so that
// alignment wastes nothing; else as given.
func biggestFirst(want []Want) []int {
	order := make([]int, len(want))
	for i := range order {
		order[i] = i
	}
	const typical = 18 // any size that both kinds can have tells their order
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(bitsOf(want[a], typical), bitsOf(want[b], typical))
	})
	return order
}

// place puts every want at its size into the first gap, or says which does not fit.
func place(network, taken []netip.Prefix, want []Want, order []int, size int) ([]netip.Prefix, int) {
	out := make([]netip.Prefix, len(want))
	used := slices.Clone(taken)
	for _, i := range order {
		p, ok := firstGap(network, used, bitsOf(want[i], size))
		if !ok {
			return nil, i
		}
		out[i] = p
		used = append(used, p)
	}
	return out, -1
}

// firstGap returns the first aligned range of that size which touches nothing used.
func firstGap(network, used []netip.Prefix, bits int) (netip.Prefix, bool) {
	if bits < 1 || bits > 32 {
		return netip.Prefix{}, false
	}
	step := uint64(1) << (32 - bits)
	for _, n := range network {
		first, last := span(n)
		for at := first; at+step-1 <= last; {
			p := netip.PrefixFrom(addr4(at), bits)
			i := slices.IndexFunc(used, p.Overlaps)
			if i < 0 {
				return p, true
			}
			// The next aligned start behind what is in the way.
			_, end := span(used[i])
			at = max(at+step, (end+step)/step*step)
		}
	}
	return netip.Prefix{}, false
}

// span returns the first and last address of an IPv4 range.
func span(p netip.Prefix) (first, last uint64) {
	a := p.Masked().Addr().As4()
	first = uint64(binary.BigEndian.Uint32(a[:]))
	return first, first + uint64(1)<<(32-p.Bits()) - 1
}

func addr4(n uint64) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], uint32(n))
	return netip.AddrFrom4(a)
}

func list(ps []netip.Prefix) string {
	s := make([]string, len(ps))
	for i, p := range ps {
		s[i] = p.String()
	}
	return strings.Join(s, ", ")
}

func takenText(taken []netip.Prefix) string {
	if len(taken) == 0 {
		return ""
	}
	return ", where " + list(taken) + " are taken"
}
