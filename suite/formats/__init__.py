"""Files in and out, whole or not at all, with a clear word about what is wrong in them."""
