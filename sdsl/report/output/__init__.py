"""What the report writes: tables, figures and one HTML page."""
