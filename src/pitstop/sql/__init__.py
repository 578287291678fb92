"""The language of statements: text in, frozen values out. Nothing is asked of anybody here."""
