// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"net/http"
	"strings"
)

// checksum is an object's own checksum, beside its ETag.
type checksum struct {
	Algorithm string `json:",omitempty"` // as in header names: CRC32, SHA256, ...
	Value     string `json:",omitempty"` // base64
	Type      string `json:",omitempty"` // FULL_OBJECT or COMPOSITE
}

func (c checksum) header() string { return "X-Amz-Checksum-" + c.Algorithm }

// crc64NVMe is the polynomial that S3 adds by itself when no checksum is sent.
var crc64NVMe = crc64.MakeTable(0x9A6C9329AC4BC9B5)

const defaultAlgorithm = "CRC64NVME"

// newHash makes the hash of an algorithm, nil when it is unknown.
func newHash(algorithm string) hash.Hash {
	switch strings.ToUpper(algorithm) {
	case "CRC32":
		return crc32.NewIEEE()
	case "CRC32C":
		return crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case "CRC64NVME":
		return crc64.New(crc64NVMe)
	case "SHA1":
		return sha1.New()
	case "SHA256":
		return sha256.New()
	}
	return nil
}

func encodeSum(h hash.Hash) string { return base64.StdEncoding.EncodeToString(h.Sum(nil)) }

// checksumHeader finds the checksum that a header or a trailer carries.
func checksumHeader(h http.Header) (algorithm, value string, err error) {
	for name, values := range h {
		a, ok := strings.CutPrefix(strings.ToUpper(name), "X-AMZ-CHECKSUM-")
		if !ok || a == "TYPE" || a == "ALGORITHM" || a == "MODE" {
			continue
		}
		if newHash(a) == nil {
			return "", "", refuse(http.StatusBadRequest, "InvalidRequest", "Checksum Type provided is unsupported: %s.", strings.ToLower(a))
		}
		if algorithm != "" {
			return "", "", refuse(http.StatusBadRequest, "InvalidRequest", "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
		}
		raw, derr := base64.StdEncoding.DecodeString(values[0])
		if derr != nil || len(raw) != newHash(a).Size() {
			return "", "", refuse(http.StatusBadRequest, "InvalidRequest", "Value for %s header is invalid.", strings.ToLower(name))
		}
		algorithm, value = a, values[0]
	}
	return algorithm, value, nil
}
