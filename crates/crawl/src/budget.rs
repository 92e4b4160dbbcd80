//! Memory as a budget in bytes, drawn by named accounts.
