//! Behaviour of the whole, beside the model-based tests in Python.
