"""Public. Sees parameters. Utility-optimised local differential privacy: some values are sensitive.

A value that is not sensitive may be disclosed, which makes answers more accurate. Source: Yin, Zhu,
Zhang, Computer Science 50(10), 2023; Murakami, Kawamoto, USENIX Security 2019; specification uldp.
"""
