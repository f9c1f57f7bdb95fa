// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// Bounds are an operation's limits for the size of a page.
type Bounds struct {
	Min, Max int    // of what a caller may ask
	Default  int    // when the caller asks nothing; 0 for everything
	Code     string // error code of a bad size, "" for InvalidParameterValue
}

// Page cuts the page that a caller asks for out of rows, and returns the token
// of the next one, "" at the end. max of 0 means that the caller gave none.
func Page[T any](c *Call, rows []T, max int, token string, b Bounds) ([]T, string, *Error) {
	code := b.Code
	if code == "" {
		code = "InvalidParameterValue"
	}
	if max != 0 && (max < b.Min || max > b.Max) {
		return nil, "", Errorf(code, "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", max, b.Min, b.Max)
	}
	start := 0
	if token != "" {
		raw, err := base64.RawURLEncoding.DecodeString(token)
		n, ok := strings.CutPrefix(string(raw), "slipway-sim:")
		i, convErr := strconv.Atoi(n)
		if err != nil || !ok || convErr != nil || i < 0 {
			return nil, "", Errorf("InvalidNextToken", "The token '%s' is invalid.", token)
		}
		start = min(i, len(rows))
	}
	size := b.Default
	if max != 0 {
		size = max
	}
	if ceiling := c.pageSize(); ceiling > 0 && (size == 0 || size > ceiling) {
		size = ceiling
	}
	rest := rows[start:]
	if size == 0 || len(rest) <= size {
		return rest, "", nil
	}
	next := "slipway-sim:" + strconv.Itoa(start+size)
	return rest[:size], base64.RawURLEncoding.EncodeToString([]byte(next)), nil
}

func (c *Call) pageSize() int {
	if c.Settings == nil {
		return 0
	}
	return c.Settings.PageSize
}
