"""The pure core: no Django, no I/O, no clock; standard library and msgspec only."""
