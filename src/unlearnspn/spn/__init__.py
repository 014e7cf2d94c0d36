"""The network: LearnSPN (Algorithm 1 of the paper), UnlearnSPN (Algorithm 2), and the nodes that they make."""
