//! Exact and near duplicates.
