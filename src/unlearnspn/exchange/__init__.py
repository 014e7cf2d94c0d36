"""What goes in and out as text and as JSON: the same for the command line and for the service."""
