"""The opencode-v2 dialect: table ``session_message``, generations 1 to 3 (format part B)."""

from .decode import decode_messages, provider_state
from .edits import compile_operations

__all__ = ["compile_operations", "decode_messages", "provider_state"]
