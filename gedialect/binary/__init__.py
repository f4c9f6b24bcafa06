"""What the bytes mean, stated once for writer and reader."""
