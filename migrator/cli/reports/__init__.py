"""A plan to be read elsewhere: Markdown for a pull request, and one HTML file with charts."""
