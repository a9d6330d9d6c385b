"""The report: one self-contained HTML page that answers the question, shows the evidence and signs it."""
