"""Values as other programs know them: Arrow types and streams, JSON and VARIANTs."""
