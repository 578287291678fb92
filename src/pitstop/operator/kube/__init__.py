"""What the operator needs of Kubernetes itself: its API server, copies of what that holds, a queue, the lead."""
