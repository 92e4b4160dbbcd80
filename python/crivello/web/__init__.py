"""The pages and the API of `crivello serve`: search, what is stored of a page, how a crawl does.

Everything is read only, and everything that a crawled page says is hostile: it is escaped, and the
browser is told to run and load nothing but what this package holds.
"""
