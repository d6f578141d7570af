"""Threads, Ctrl-C, forks, child processes, leases, directory trees and memory: whatever belongs to a process and needs no Spark."""
