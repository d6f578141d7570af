"""Calendars that other programs count days in: dates and date-times of their files as those of the calendar that columns use."""
