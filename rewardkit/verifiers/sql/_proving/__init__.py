"""Proofs about plain queries: read as blocks, said as formulas, decided by z3."""
