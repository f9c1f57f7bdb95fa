// SPDX-License-Identifier: Apache-2.0

package tasks

import "slices"

// diffLine is a line of a text comparison: ' ' in both, '-' in the old, '+' in the new.
type diffLine struct {
	mark rune
	text string
}

// maxDiffCells bounds the table of diffLines: above it, texts this different are shown
// as one removed and one added block.
const maxDiffCells = 4_000_000

// diffLines compares two texts line by line (longest common subsequence).
func diffLines(old, new []string) []diffLine {
	var head, tail []diffLine
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		head = append(head, diffLine{' ', old[0]})
		old, new = old[1:], new[1:]
	}
	for len(old) > 0 && len(new) > 0 && old[len(old)-1] == new[len(new)-1] {
		tail = append(tail, diffLine{' ', old[len(old)-1]})
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, diffMiddle(old, new), tail)
}

func diffMiddle(old, new []string) []diffLine {
	rows, cols := len(old)+1, len(new)+1
	var lines []diffLine
	i, j := 0, 0
	if rows*cols <= maxDiffCells {
		common := make([]int32, rows*cols) // of old[i:] and new[j:]
		for i := rows - 2; i >= 0; i-- {
			for j := cols - 2; j >= 0; j-- {
				if old[i] == new[j] {
					common[i*cols+j] = common[(i+1)*cols+j+1] + 1
				} else {
					common[i*cols+j] = max(common[(i+1)*cols+j], common[i*cols+j+1])
				}
			}
		}
		for i < len(old) && j < len(new) {
			switch {
			case old[i] == new[j]:
				lines = append(lines, diffLine{' ', old[i]})
				i, j = i+1, j+1
			case common[(i+1)*cols+j] >= common[i*cols+j+1]:
				lines = append(lines, diffLine{'-', old[i]})
				i++
			default:
				lines = append(lines, diffLine{'+', new[j]})
				j++
			}
		}
	}
	for ; i < len(old); i++ {
		lines = append(lines, diffLine{'-', old[i]})
	}
	for ; j < len(new); j++ {
		lines = append(lines, diffLine{'+', new[j]})
	}
	return lines
}

// near keeps the changed lines of a comparison with some around them; what is left out
// becomes one line with the mark '.'.
func near(lines []diffLine, around int) []diffLine {
	keep := make([]bool, len(lines))
	for i, l := range lines {
		if l.mark == ' ' {
			continue
		}
		for k := max(0, i-around); k <= min(len(lines)-1, i+around); k++ {
			keep[k] = true
		}
	}
	var out []diffLine
	for i, l := range lines {
		switch {
		case keep[i]:
			out = append(out, l)
		case i == 0 || keep[i-1]:
			out = append(out, diffLine{mark: '.'})
		}
	}
	return out
}
