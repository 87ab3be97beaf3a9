"""Pictures of plain values; nothing here knows a run."""
