"""What belongs to a process and needs no Spark: threads, Ctrl-C, forks, child processes, ownership of temporary files, directory trees, memory and
cores.
"""
