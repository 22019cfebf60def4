"""What the pages of the book import, and what builds, checks, serves and releases it."""
