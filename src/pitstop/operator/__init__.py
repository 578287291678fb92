"""The door for kubectl: the resources of hazelcast.com/v1alpha1, and the operator that brings them about."""
