"""The resources of group hazelcast.com in the form of Kubernetes, a module for each kind. The CRDs are made from these models."""
