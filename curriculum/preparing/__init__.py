"""The rooms of `curriculum prepare`; its story is `curriculum.prepare`."""
