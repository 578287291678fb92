"""The door for kubectl: resources of hazelcast.com/v1alpha1, and what they ask for (resources.md)."""
