// SPDX-License-Identifier: Apache-2.0

package kms

import (
	"time"

	"github.com/slipway-k8s/slipway/pkg/sim/aws/wire"
)

func (s *Service) stateOps() map[string]wire.JSONHandler {
	return map[string]wire.JSONHandler{
		"EnableKey": wire.JSONOp(s.enableKey), "DisableKey": wire.JSONOp(s.disableKey),
		"EnableKeyRotation": wire.JSONOp(s.enableRotation), "DisableKeyRotation": wire.JSONOp(s.disableRotation),
		"GetKeyRotationStatus": wire.JSONOp(s.rotationStatus),
		"ScheduleKeyDeletion":  wire.JSONOp(s.scheduleDeletion), "CancelKeyDeletion": wire.JSONOp(s.cancelDeletion),
	}
}

func (s *Service) isPending(k *key) *wire.Error {
	return wire.Errorf("KMSInvalidStateException", "%s is pending deletion.", s.keyARN(k))
}

// usable refuses a key that may not be used now.
func (s *Service) usable(k *key) *wire.Error {
	switch k.State {
	case statePending:
		return s.isPending(k)
	case stateDisabled:
		return wire.Errorf("DisabledException", "%s is disabled.", s.keyARN(k))
	}
	return nil
}

type keyIn struct {
	KeyId string `wire:",required"`
}

// alive finds a key to be changed and refuses one that is pending deletion.
func (s *Service) alive(c *wire.Call, id string) (*key, *wire.Error) {
	k, err := s.find(c, id, false)
	if err == nil && k.State == statePending {
		err = s.isPending(k)
	}
	return k, err
}

func (s *Service) enableKey(c *wire.Call, in *keyIn) (*struct{}, error) {
	return nil, s.setState(c, in.KeyId, stateEnabled)
}

func (s *Service) disableKey(c *wire.Call, in *keyIn) (*struct{}, error) {
	return nil, s.setState(c, in.KeyId, stateDisabled)
}

func (s *Service) setState(c *wire.Call, id, state string) error {
	k, err := s.alive(c, id)
	if err != nil {
		return err
	}
	k.State = state
	s.keys.Put(c.Region, k.ID, k)
	return nil
}

// rotatable finds a key whose rotation may be turned.
func (s *Service) rotatable(c *wire.Call, id string) (*key, *wire.Error) {
	k, err := s.find(c, id, false)
	if err != nil {
		return nil, err
	}
	if k.Spec != symmetric {
		return nil, wire.Errorf("UnsupportedOperationException", "You cannot perform the operation on the key %s: it is no symmetric encryption key", s.keyARN(k))
	}
	return k, s.usable(k)
}

func (s *Service) enableRotation(c *wire.Call, in *struct {
	KeyId                string `wire:",required"`
	RotationPeriodInDays *int
}) (*struct{}, error) {
	k, err := s.rotatable(c, in.KeyId)
	if err != nil {
		return nil, err
	}
	days := 365
	if in.RotationPeriodInDays != nil {
		days = *in.RotationPeriodInDays
	}
	if days < 90 || days > 2560 {
		return nil, invalid("1 validation error detected: Value '%d' at 'rotationPeriodInDays' failed to satisfy constraint: Member must have value between 90 and 2560", days)
	}
	if !k.Rotating || k.RotationDays != days {
		k.Rotating, k.RotationDays, k.NextRotation = true, days, c.Now.UTC().AddDate(0, 0, days)
		s.keys.Put(c.Region, k.ID, k)
	}
	return nil, nil
}

func (s *Service) disableRotation(c *wire.Call, in *keyIn) (*struct{}, error) {
	k, err := s.rotatable(c, in.KeyId)
	if err != nil {
		return nil, err
	}
	k.Rotating = false
	s.keys.Put(c.Region, k.ID, k)
	return nil, nil
}

type rotationOut struct {
	KeyRotationEnabled   bool
	KeyId                string
	RotationPeriodInDays *int
	NextRotationDate     time.Time
}

func (s *Service) rotationStatus(c *wire.Call, in *keyIn) (*rotationOut, error) {
	k, err := s.alive(c, in.KeyId)
	if err != nil {
		return nil, err
	}
	out := &rotationOut{KeyId: s.keyARN(k)}
	if k.Rotating {
		out.KeyRotationEnabled, out.RotationPeriodInDays, out.NextRotationDate = true, &k.RotationDays, k.NextRotation
	}
	return out, nil
}

type deletionOut struct {
	KeyId               string
	DeletionDate        time.Time
	KeyState            string
	PendingWindowInDays int
}

func (s *Service) scheduleDeletion(c *wire.Call, in *struct {
	KeyId               string `wire:",required"`
	PendingWindowInDays *int
}) (*deletionOut, error) {
	days := 30
	if in.PendingWindowInDays != nil {
		days = *in.PendingWindowInDays
	}
	if days < 7 || days > 30 {
		return nil, invalid("1 validation error detected: Value '%d' at 'pendingWindowInDays' failed to satisfy constraint: Member must have value between 7 and 30", days)
	}
	k, err := s.alive(c, in.KeyId)
	if err != nil {
		return nil, err
	}
	k.State, k.Deletion = statePending, c.Now.UTC().AddDate(0, 0, days)
	s.keys.Put(c.Region, k.ID, k)
	return &deletionOut{s.keyARN(k), k.Deletion, k.State, days}, nil
}

type keyIDOut struct{ KeyId string }

func (s *Service) cancelDeletion(c *wire.Call, in *keyIn) (*keyIDOut, error) {
	k, err := s.find(c, in.KeyId, false)
	if err != nil {
		return nil, err
	}
	if k.State != statePending {
		return nil, wire.Errorf("KMSInvalidStateException", "%s is not pending deletion.", s.keyARN(k))
	}
	k.State, k.Deletion = stateDisabled, time.Time{}
	s.keys.Put(c.Region, k.ID, k)
	return &keyIDOut{s.keyARN(k)}, nil
}
