// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/xml"
	"net/http"
)

type versioning struct {
	XMLName   xml.Name `xml:"VersioningConfiguration"`
	Status    string   `xml:",omitempty"`
	MfaDelete string   `xml:",omitempty"`
}

// putVersioning verifies the document before gofakes3 reads it.
func (c *call) putVersioning() error {
	raw, err := c.document(true)
	if err != nil {
		return err
	}
	var in versioning
	if err := strictXML(raw, &in, "VersioningConfiguration"); err != nil {
		return err
	}
	if in.Status != "Enabled" && in.Status != "Suspended" {
		return malformedXML()
	}
	if in.MfaDelete != "" {
		return refuse(http.StatusNotImplemented, "NotImplemented", "MFA delete is not implemented")
	}
	return c.delegateWith(raw)
}

// getVersioning answers an empty document for a bucket that never had versions.
func (c *call) getVersioning() error {
	b, err := c.store.bucket(c.bucket)
	if err != nil {
		return err
	}
	return c.writeXML(http.StatusOK, versioning{Status: b.Versioning})
}

type versionList struct {
	XMLName             xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListVersionsResult"`
	Name, Prefix        string
	KeyMarker           string
	VersionIDMarker     string `xml:"VersionIdMarker"`
	NextKeyMarker       string `xml:",omitempty"`
	NextVersionIDMarker string `xml:"NextVersionIdMarker,omitempty"`
	Delimiter           string `xml:",omitempty"`
	MaxKeys             int
	IsTruncated         bool
	Rows                []any
	CommonPrefixes      []struct{ Prefix string }
}

type versionRow struct {
	XMLName      xml.Name `xml:"Version"`
	Key          string
	VersionID    string `xml:"VersionId"`
	IsLatest     bool
	LastModified string
	ETag         string
	Size         int64
	StorageClass string
}

type markerRow struct {
	XMLName      xml.Name `xml:"DeleteMarker"`
	Key          string
	VersionID    string `xml:"VersionId"`
	IsLatest     bool
	LastModified string
}

func (c *call) listObjectVersions() error {
	limit, err := c.pageSize("max-keys")
	if err != nil {
		return err
	}
	out := versionList{Name: c.bucket, Prefix: c.q("prefix"), Delimiter: c.q("delimiter"), MaxKeys: limit,
		KeyMarker: c.q("key-marker"), VersionIDMarker: c.q("version-id-marker")}
	if out.VersionIDMarker != "" && out.KeyMarker == "" {
		return invalidArgument("version-id-marker", "A version-id marker cannot be specified without a key marker.")
	}
	rows, truncated, err := c.store.listVersions(c.bucket, pageOf{prefix: out.Prefix, delimiter: out.Delimiter,
		after: out.KeyMarker, afterVersion: out.VersionIDMarker, limit: limit})
	if err != nil {
		return err
	}
	for _, row := range rows {
		switch {
		case row.prefix:
			out.CommonPrefixes = append(out.CommonPrefixes, struct{ Prefix string }{row.key})
		case row.Marker:
			out.Rows = append(out.Rows, markerRow{Key: row.key, VersionID: row.ID, IsLatest: row.latest, LastModified: stamp(row.Modified)})
		default:
			out.Rows = append(out.Rows, versionRow{Key: row.key, VersionID: row.ID, IsLatest: row.latest, LastModified: stamp(row.Modified),
				ETag: quote(row.ETag), Size: row.Size, StorageClass: "STANDARD"})
		}
	}
	if truncated {
		last := rows[len(rows)-1]
		out.IsTruncated, out.NextKeyMarker, out.NextVersionIDMarker = true, last.key, last.ID
	}
	return c.writeXML(http.StatusOK, out)
}
