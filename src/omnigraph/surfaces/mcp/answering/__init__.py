"""What tools answer: results and errors as text and as data, within their bounds."""
