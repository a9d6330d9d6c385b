"""Where problems come from: readers for common formats and for the layouts that the data sets' authors released."""
