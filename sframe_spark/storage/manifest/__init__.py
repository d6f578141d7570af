"""What a dataset consists of, as a value and as a text that is checked before it is believed."""
