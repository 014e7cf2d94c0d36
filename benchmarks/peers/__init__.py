"""Other libraries of sum-product networks, each in an environment and a process of its own."""
