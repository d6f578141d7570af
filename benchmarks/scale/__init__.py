"""What operators cost at a scale that nobody here can try: a model read off the engine, fitted to runs, and a driver that plans for a cluster."""
