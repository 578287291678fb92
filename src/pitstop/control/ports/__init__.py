"""The protocols by which the control plane and its runs reach the world. Packages above this one implement them."""
