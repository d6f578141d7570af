"""Files and directories of this machine: how they are named, fetched, listed and told apart, and what their errors mean."""
