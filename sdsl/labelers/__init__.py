"""Generation: one labeler a file, named like its YAML in conf/labeler/."""
