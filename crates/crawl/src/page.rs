//! Pages: links, text and metadata of HTML.
