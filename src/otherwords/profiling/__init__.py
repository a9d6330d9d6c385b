"""What a transformation does to a suite, as Salvatore et al. (2023) describe theirs in Appendix C."""
