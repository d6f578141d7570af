"""Files and directories of this machine: how they are named, fetched, listed and distinguished, and what their errors mean."""
