"""Asking for pages: what a site allows, and how it is asked."""
