"""This process and its children: threads, Ctrl-C, forks, leases on files, limits of memory and cores; knows no Spark."""
