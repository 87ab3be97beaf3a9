"""The procedures whose numbers are never mixed."""

from typing import Literal

ProtocolName = Literal["standard", "paper", "original_code"]
