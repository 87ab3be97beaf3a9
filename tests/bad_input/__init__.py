"""What people give to the package that is wrong: each is answered by one line that says what is wrong and what is allowed."""
