"""One algorithm a file: ``OBJECTIVES`` and ``solve(question) -> Claim``; found by file listing."""
