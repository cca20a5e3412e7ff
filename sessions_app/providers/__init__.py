"""Live streams and probes through the providers' own SDKs: ``connect`` for turns, ``Line`` for single
requests.

The SDKs are the optional extra ``providers``; they are imported only where something is sent.
"""

from .endpoints import Endpoint, endpoint, endpoints, stem_of
from .feed import Cancel, Limits
from .line import Line, NotReachable, connect

__all__ = [
    "Cancel",
    "Endpoint",
    "Limits",
    "Line",
    "NotReachable",
    "connect",
    "endpoint",
    "endpoints",
    "stem_of",
]
