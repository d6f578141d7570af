"""What belongs to a process and needs no Spark: threads, Ctrl-C, forks, child processes, temporary files, memory and cores."""
