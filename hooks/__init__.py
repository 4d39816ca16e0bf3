"""What the site build does beyond MkDocs: one small module for each mechanism."""
