"""Table 4, in the paper's Appendix B: counts in the local model."""
