"""One HTML file with every table, every record and the plots, which needs nothing beside it."""
