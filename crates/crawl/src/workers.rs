//! Page workers: from fetched bytes to Arrow batches.
