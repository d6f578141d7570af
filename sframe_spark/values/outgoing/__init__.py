"""Values as other programs know them: Arrow types, JSON and VARIANTs."""
