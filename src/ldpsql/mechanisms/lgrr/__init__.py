"""LGRR and LGRR-FD of H4MDA as published, which are not private, and what repairs them."""
