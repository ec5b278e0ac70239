"""What commands say: lines, tables, one JSON document, findings."""
