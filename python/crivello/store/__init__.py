"""What a crawl keeps: the tables, the WARC files, and how they are read while it runs."""
