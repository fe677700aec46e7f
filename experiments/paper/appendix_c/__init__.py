"""The paper's Appendix C: paths of two edges in a graph of e-mails."""
