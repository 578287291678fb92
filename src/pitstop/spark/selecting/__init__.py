"""SELECT: on maps, files, saved state and views at once, and on streams for as long as somebody takes the rows."""
