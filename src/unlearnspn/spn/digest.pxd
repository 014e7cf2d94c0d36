from unlearnspn.spn.node cimport Factor, Node
