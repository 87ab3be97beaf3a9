"""Tables, figures and the page of results, from the files of many runs."""
