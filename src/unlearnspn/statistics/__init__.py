"""Statistics: what a node knows of its records. They add, subtract and merge, bit for bit, in any order."""
