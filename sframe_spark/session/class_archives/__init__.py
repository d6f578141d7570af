"""An archive of the classes that Spark loads, kept for a user by ``python -m sframe_spark prepare``: with it a JVM need not parse them again.

Source: Java's class data sharing, https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""
