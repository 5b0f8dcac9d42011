"""Key rewrites, purely: which item belongs to which, what each phase asks for, and what makes a twin follow.

The words: the *authority* is the side that decides (old before cutover, new from cutover on); the *twin* is the item on
the other side.
"""
