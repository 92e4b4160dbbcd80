//! The simulated web.
