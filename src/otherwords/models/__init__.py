"""Who answers: anything that turns a batch of problems into labels or probabilities."""
