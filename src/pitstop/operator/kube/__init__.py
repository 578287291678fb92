"""The operator's access to Kubernetes: the API server, copies of its objects, a work queue, and the lead."""
