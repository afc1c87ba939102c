"""Run by the designer, on public parameters: they make plans and say which decoder reads them."""
