"""The language of statements: text in, frozen values out. Nothing here reads or changes anything outside."""
