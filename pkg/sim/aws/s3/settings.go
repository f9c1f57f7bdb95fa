// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxPolicy is the size of a bucket policy in bytes.
const maxPolicy = 20 * 1024

// setting is a bucket sub-resource that is one document: how it is checked on
// a put, and what a get of an absent one says.
type setting struct {
	root    string
	absent  *apiError
	check   func(raw []byte) error
	putCode int
}

type publicAccessBlock struct {
	XMLName               xml.Name `xml:"PublicAccessBlockConfiguration"`
	BlockPublicAcls       bool
	IgnorePublicAcls      bool
	BlockPublicPolicy     bool
	RestrictPublicBuckets bool
}

type ownershipControls struct {
	XMLName xml.Name `xml:"OwnershipControls"`
	Rule    []struct{ ObjectOwnership string }
}

type encryption struct {
	XMLName xml.Name `xml:"ServerSideEncryptionConfiguration"`
	Rule    []struct {
		ApplyServerSideEncryptionByDefault struct {
			SSEAlgorithm   string
			KMSMasterKeyID string `xml:",omitempty"`
		}
		BucketKeyEnabled       bool
		BlockedEncryptionTypes *struct {
			EncryptionType []string
		}
	}
}

var settings = map[string]setting{
	"publicAccessBlock": {
		root:   "PublicAccessBlockConfiguration",
		absent: refuse(http.StatusNotFound, "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found"),
		check:  func(raw []byte) error { return strictXML(raw, &publicAccessBlock{}, "PublicAccessBlockConfiguration") },
	},
	"ownershipControls": {
		root:   "OwnershipControls",
		absent: refuse(http.StatusNotFound, "OwnershipControlsNotFoundError", "The bucket ownership controls were not found"),
		check:  checkOwnershipDocument,
	},
	"encryption": {
		root:   "ServerSideEncryptionConfiguration",
		absent: refuse(http.StatusNotFound, "ServerSideEncryptionConfigurationNotFoundError", "The server side encryption configuration was not found"),
		check:  checkEncryption,
	},
	"policy": {
		absent:  refuse(http.StatusNotFound, "NoSuchBucketPolicy", "The bucket policy does not exist"),
		check:   checkPolicy,
		putCode: http.StatusNoContent,
	},
}

func checkOwnership(value string) error {
	switch value {
	case "BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter":
		return nil
	}
	return invalidArgument("x-amz-object-ownership", "Invalid ObjectOwnership %q", value)
}

func checkOwnershipDocument(raw []byte) error {
	var in ownershipControls
	if err := strictXML(raw, &in, "OwnershipControls"); err != nil {
		return err
	}
	if len(in.Rule) != 1 || checkOwnership(in.Rule[0].ObjectOwnership) != nil {
		return malformedXML()
	}
	return nil
}

func checkEncryption(raw []byte) error {
	var in encryption
	if err := strictXML(raw, &in, "ServerSideEncryptionConfiguration"); err != nil {
		return err
	}
	if len(in.Rule) != 1 {
		return malformedXML()
	}
	def := in.Rule[0].ApplyServerSideEncryptionByDefault
	switch def.SSEAlgorithm {
	case "aws:kms", "aws:kms:dsse":
		return nil
	case "AES256":
		if def.KMSMasterKeyID == "" {
			return nil
		}
		return invalidArgument("ApplyServerSideEncryptionByDefault", "a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or aws:kms:dsse")
	}
	return malformedXML()
}

func malformedPolicy(format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, "MalformedPolicy", format, args...)
}

// checkPolicy looks at the form of a bucket policy; what it allows is judged
// where calls are authorised.
func checkPolicy(raw []byte) error {
	if len(raw) > maxPolicy {
		return refuse(http.StatusBadRequest, "PolicyTooLarge", "Policies must not exceed %d bytes", maxPolicy)
	}
	var doc struct {
		Version   string
		Id        string
		Statement []map[string]any
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return malformedPolicy("Policies must be valid JSON and the first byte must be '{'")
	}
	if doc.Version != "" && doc.Version != "2012-10-17" && doc.Version != "2008-10-17" {
		return malformedPolicy("The policy must contain a valid version string")
	}
	if len(doc.Statement) == 0 {
		return malformedPolicy("Could not parse the policy: Statement is empty!")
	}
	for _, s := range doc.Statement {
		if effect := s["Effect"]; effect != "Allow" && effect != "Deny" {
			return malformedPolicy("Invalid effect: %v", effect)
		}
		for _, pair := range [][2]string{{"Principal", "NotPrincipal"}, {"Action", "NotAction"}, {"Resource", "NotResource"}} {
			if (s[pair[0]] == nil) == (s[pair[1]] == nil) {
				return malformedPolicy("Missing required field %s", pair[0])
			}
		}
	}
	return nil
}

// serveSetting serves get, put and delete of a bucket's document.
func (c *call) serveSetting(name string, s setting) error {
	b, err := c.store.bucket(c.bucket)
	if err != nil {
		return err
	}
	switch c.r.Method {
	case http.MethodGet:
		doc, ok := b.Config[name]
		if !ok {
			return s.absent
		}
		kind := "application/xml"
		if s.root == "" {
			kind = "application/json"
		}
		c.w.Header().Set("Content-Type", kind)
		_, err := io.WriteString(c.w, doc)
		return err
	case http.MethodPut:
		return c.putSetting(name, s)
	case http.MethodDelete:
		return c.dropSetting(name)
	}
	return methodNotAllowed()
}

func (c *call) putSetting(name string, s setting) error {
	raw, err := c.document(false)
	if err != nil {
		return err
	}
	if err := s.check(raw); err != nil {
		return err
	}
	err = c.store.changeBucket(c.bucket, func(b *bucketRecord) error {
		if name == "policy" && publicPolicyBlocked(b, raw) {
			return refuse(http.StatusForbidden, "AccessDenied",
				"User is not authorized to perform: s3:PutBucketPolicy because public policies are blocked by the BlockPublicPolicy block public access setting.")
		}
		if b.Config == nil {
			b.Config = map[string]string{}
		}
		b.Config[name] = string(raw)
		return nil
	})
	if err != nil {
		return err
	}
	status := s.putCode
	if status == 0 {
		status = http.StatusOK
	}
	c.w.WriteHeader(status)
	return nil
}

func (c *call) dropSetting(name string) error {
	err := c.store.changeBucket(c.bucket, func(b *bucketRecord) error {
		delete(b.Config, name)
		return nil
	})
	if err == nil {
		c.w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// publicPolicyBlocked tells whether a policy allows everybody, without a
// condition, in a bucket that blocks such policies.
func publicPolicyBlocked(b *bucketRecord, raw []byte) bool {
	var block publicAccessBlock
	if doc, ok := b.Config["publicAccessBlock"]; !ok || xml.Unmarshal([]byte(doc), &block) != nil || !block.BlockPublicPolicy {
		return false
	}
	var doc struct{ Statement []map[string]any }
	if json.Unmarshal(raw, &doc) != nil {
		return false
	}
	for _, s := range doc.Statement {
		if s["Effect"] == "Allow" && s["Condition"] == nil && everybody(s["Principal"]) {
			return true
		}
	}
	return false
}

func everybody(principal any) bool {
	if m, ok := principal.(map[string]any); ok {
		principal = m["AWS"]
	}
	return strings.Trim(fmt.Sprint(principal), "[]") == "*"
}

// refuseACL refuses access lists where ownership controls turn them off. A new
// bucket is one where they are off unless the request says otherwise.
func (c *call) refuseACL(creating bool) error {
	acl := c.r.Header.Get("X-Amz-Acl")
	grant := false
	for name := range c.r.Header {
		grant = grant || strings.HasPrefix(name, "X-Amz-Grant-")
	}
	if acl == "" && !grant {
		return nil
	}
	enforced := false
	if creating {
		own := c.r.Header.Get("x-amz-object-ownership")
		enforced = own == "" || own == "BucketOwnerEnforced"
	} else {
		b, err := c.store.bucket(c.bucket)
		if err != nil {
			return err
		}
		enforced = strings.Contains(b.Config["ownershipControls"], "BucketOwnerEnforced")
	}
	harmless := acl == "private" && creating || acl == "bucket-owner-full-control" && !creating
	if !enforced || (harmless && !grant) {
		return nil
	}
	if creating {
		return refuse(http.StatusBadRequest, "InvalidBucketAclWithObjectOwnership",
			"Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting")
	}
	return refuse(http.StatusBadRequest, "AccessControlListNotSupported", "The bucket does not allow ACLs")
}
