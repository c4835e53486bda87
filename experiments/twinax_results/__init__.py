"""Reads Twinax's records (HDF5) and draws them: figures, a table, a sentence, and one HTML page. results/README.md describes the records."""
