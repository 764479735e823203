"""Generation: one labeler per file, named like its YAML in conf/labeler/."""
