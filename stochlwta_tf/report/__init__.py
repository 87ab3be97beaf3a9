"""Tables and figures of results, beside those of the paper."""
