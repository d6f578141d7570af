"""Programs over very many rows in several libraries, each with little memory: ``make bench-large``."""
