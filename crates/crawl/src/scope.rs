//! Which URLs a crawl may admit.
