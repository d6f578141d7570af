"""The most memory that a process took: a function for programs that tests start."""

# Not `ru_maxrss`: a process inherits that of whoever starts it, as it was at that moment.
PEAK = """
def peak():
    "Bytes at most so far."
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
"""
