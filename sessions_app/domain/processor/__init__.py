"""The turn processor (docs/contract/design.md#7): a provider's stream in, the parts of an assistant message out.

``machine`` is the state machine, ``turn`` runs attempts and steps with it, ``dialogue`` a whole conversation;
``events`` is what streams say, ``shapes`` what is written. Everything from outside comes by ``ports``.
"""

from .dialogue import Dialogue
from .events import Event, Failure, StreamFailed, ToolOutput, Usage
from .items import Draft, Speaker
from .machine import Processor
from .minting import Mint
from .ports import Surroundings
from .requests import ToolSpec
from .retry import RetryPolicy
from .shapes import RowDrop, RowPut, Spent, Write
from .turn import Engine, TurnEnd
from .v1 import V1Shape
from .v2 import V2Shape

__all__ = [
    "Dialogue",
    "Draft",
    "Engine",
    "Event",
    "Failure",
    "Mint",
    "Processor",
    "RetryPolicy",
    "RowDrop",
    "RowPut",
    "Speaker",
    "Spent",
    "StreamFailed",
    "Surroundings",
    "ToolOutput",
    "ToolSpec",
    "TurnEnd",
    "Usage",
    "V1Shape",
    "V2Shape",
    "Write",
]
