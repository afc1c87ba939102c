"""Published mechanisms for ranges, reimplemented from their papers and their authors' programs."""
