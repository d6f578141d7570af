"""What is made sure of when a process forks: that no thread imports then, and that an interrupt does not break it off."""
